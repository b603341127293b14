"""wgmma: four warps multiply matrices in shared memory (A also in registers), each warp its own 16 rows; setmaxnreg.

The product is made where it is issued, so commit_group and wait_group have nothing to do in the fast build; the
observed build keeps account of what is in flight (warpgroup_watch.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions import warpgroup_tiles, warpgroup_watch
from gridstride.virtual.lowering.instructions.floats import Family, check
from gridstride.virtual.lowering.instructions.matrix_formats import FORMATS
from gridstride.virtual.lowering.instructions.matrix_memory import items, shape_of
from gridstride.virtual.lowering.instructions.warpgroup_products import HEIGHT, K_BYTES, WideProduct
from gridstride.virtual.lowering.instructions.warpgroup_watch import Watch
from gridstride.virtual.lowering.ir import Value, constant, wide
from gridstride.virtual.lowering.program import Blind
from gridstride.virtual.lowering.runtime.descriptors import PIECE
from gridstride.virtual.lowering.warpgroup_registers import multiplies
from gridstride.virtual.machine.layout import FAULT, LANES
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand, Vector
from gridstride.virtual.ptx.operands import registers_of

SUMS = {"f16": ("f16", "f32"), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",),
        "s8": ("s32",), "u8": ("s32",), "b1": ("s32",)}  # fmt: skip
"""Types of D for each type of A."""

MIXED = {"e4m3": "e5m2", "e5m2": "e4m3", "s8": "u8", "u8": "s8"}
WORDS = ("mma_async", "sp", "sync", "aligned", "satfinite", "and", "popc")
ROWS, MOST_COLUMNS, MOST_REGISTERS = 64, 256, 128
SIGNS = {"f16": 0x80008000, "bf16": 0x80008000, "tf32": 0x80000000, "e4m3": 0x80808080, "e5m2": 0x80808080}
"""Sign bits of the elements in a register."""


@dataclass(frozen=True, slots=True)
class Form:
    """One wgmma.mma_async, its operands told apart. `a` is a vector of registers or a descriptor."""

    product: WideProduct
    n: int
    d: tuple[Operand, ...]
    a: Operand
    b: Operand
    scale: Operand
    meta: Operand | None = None
    negative: bool = False
    transposed: tuple[bool, bool] = field(default=(False, False))

    @property
    def left(self) -> tuple[Operand, ...] | None:
        """A's registers, None where a descriptor says where it is."""
        return self.a.items if isinstance(self.a, Vector) else None

    @property
    def groups(self) -> int:
        """Pieces of 8 columns."""
        return self.n // 8


def form_of(cx: Lowering, ins: Instruction) -> Form:
    """What the instruction says; what the ISA has not is refused."""
    m, n, k = shape_of(cx, ins)
    check(cx, ins, {*WORDS, f"m{m}n{n}k{k}"})
    if ins.modifiers[0] != "mma_async" or not {"sync", "aligned"} <= set(ins.modifiers) or len(ins.types) != 3:
        raise cx.unsupported(f"`{ins.name}`")
    d, a, second = ins.types
    rest = list(ins.operands[3:])
    sparse = "sp" in ins.modifiers
    meta, selector = (rest.pop(0), _number(cx, ins, rest.pop(0), (0, 1))) if sparse and len(rest) > 2 else (None, None)
    rule = next((w for w in ("satfinite", "and") if w in ins.modifiers), "")
    product = WideProduct(HEIGHT, 8 * K_BYTES // FORMATS[a].bits if a in SUMS else 0, a, second, d, d, rule,
                          selector=selector)  # fmt: skip
    if not _legal(product, (m, n, k), ins) or len(ins.operands) < 4 or sparse is not product.sparse:
        raise cx.unsupported(f"`{ins.name}`")
    left = ins.operands[1]
    scale, *rest = rest
    numbers = _immediates(cx, ins, product, isinstance(left, Vector), rest)
    form = Form(product, n, items(ins.operands[0]), left, ins.operands[2], scale, meta, *numbers)
    registers = (len(form.d), len(form.left) if form.left else 4)
    if registers != (product.sum_bytes // (4 * LANES) * form.groups, 4):
        raise cx.unsupported(f"`{ins.name}` with {registers[0]} registers for D and {registers[1]} for A")
    return form


def _legal(p: WideProduct, shape: tuple[int, int, int], ins: Instruction) -> bool:
    """Whether the ISA has the shape, the types and the rule together."""
    m, n, k = shape
    if p.a not in SUMS or p.d not in SUMS[p.a] or p.b not in (p.a, MIXED.get(p.a)):
        return False
    if m != ROWS or n % 8 or not 8 <= n <= MOST_COLUMNS or k != p.k * (2 if p.sparse else 1):
        return False
    if SUMS[p.a] == ("s32",) and n > 24 and n % 16:
        return False
    if p.a == "b1":
        return p.rule == "and" and "popc" in ins.modifiers and not p.sparse
    if p.sparse and FORMATS[p.a].bits == 8 and p.selector != 0:
        return False
    return "popc" not in ins.modifiers and p.rule in ("", "satfinite" if SUMS[p.a] == ("s32",) else "")


def _number(cx: Lowering, ins: Instruction, operand: Operand, legal: tuple[int, ...]) -> int:
    """An immediate operand; negative ones come with their sign."""
    if isinstance(operand, Immediate):
        value = operand.bits & 0xFFFFFFFF
        value -= (value >> 31) << 32
        if value in legal:
            return value
    raise cx.unsupported(f"`{ins.name}` with an operand that is not {' or '.join(map(str, legal))}")


def _immediates(
    cx: Lowering, ins: Instruction, product: WideProduct, from_registers: bool, given: list[Operand]
) -> tuple[bool, tuple[bool, bool]]:
    """(whether A · B is negated, which matrices are transposed)."""
    floating = product.formats[0].floating
    turns = (0 if product.formats[0].bits != 16 else 1 if from_registers else 2) if floating else 0
    if len(given) != 2 * floating + turns:
        raise cx.unsupported(f"`{ins.name}` with {len(ins.operands)} operands")
    signs = [_number(cx, ins, o, (-1, 1)) for o in given[: 2 * floating]]
    turned = [_number(cx, ins, o, (0, 1)) == 1 for o in given[2 * floating :]]
    turned = [False] * (2 - len(turned)) + turned
    return signs in ([-1, 1], [1, -1]), (turned[0], turned[1])


# -- lowering ---------------------------------------------------------------------------------------------------------
def wgmma(cx: Lowering, ins: Instruction) -> None:
    """wgmma.mma_async and what goes with it."""
    step = {"fence": _fence, "commit_group": _fence, "wait_group": _wait}.get(next(iter(ins.modifiers), ""), _multiply)
    step(cx, ins)


def _watched(cx: Lowering) -> bool:
    """True in the observed build."""
    return not isinstance(cx.program.observer, Blind)


def _fence(cx: Lowering, ins: Instruction) -> None:
    check(cx, ins, {"fence", "commit_group", "sync", "aligned"})
    if _watched(cx):
        cx.b.call("void", "gs_wgmma_fence" if "fence" in ins.modifiers else "gs_wgmma_commit", cx.warp)


def _wait(cx: Lowering, ins: Instruction) -> None:
    check(cx, ins, {"wait_group", "sync", "aligned"})
    left = _number(cx, ins, ins.operands[0], tuple(range(8)))
    if _watched(cx):
        cx.b.call("void", "gs_wgmma_wait", cx.warp, constant("i32", left))


def _multiply(cx: Lowering, ins: Instruction) -> None:
    form = form_of(cx, ins)
    product = form.product
    if product.name not in cx.program.ir.defined:
        warpgroup_tiles.define(cx.program.ir, product)
    site = Watch.of(cx).site(cx, ins) if _watched(cx) else constant("i32", cx.program.site(cx))
    if cx.always():
        _product(cx, form, site)
        return
    # Where no lane executes it, the descriptors may be anything.
    some = cx.b.compare("ne", cx.active(), constant("i32", 0))
    sums = _area(cx, "wgmma sums", 4 * LANES * MOST_REGISTERS)
    _put(cx, sums, form.d)
    with cx.aside(), cx.b.if_(some):
        _call(cx, form, site, sums)
    _take(cx, sums, form.d)


def _product(cx: Lowering, form: Form, site: Value) -> None:
    """Where one wgmma follows another on the same registers, these stay where they are in between."""
    sums = _area(cx, "wgmma sums", 4 * LANES * MOST_REGISTERS)
    block = cx.code.blocks[cx.block]
    at = next(i for i, ins in enumerate(block) if ins is cx.ins)
    if not _handed_on(cx, block[at::-1]):
        _put(cx, sums, form.d)
    _call(cx, form, site, sums)
    if not _handed_on(cx, block[at:]):
        _take(cx, sums, form.d)


def _handed_on(cx: Lowering, run: list[Instruction]) -> bool:
    """Whether a wgmma's accumulators go on to the next one in `run`, untouched by what is between."""
    first, *others = run
    own = set(registers_of(first.operands[0]))
    for ins in others:
        if multiplies(ins):
            same = ins.operands[0] == first.operands[0] and ins.types[0] == first.types[0]
            return same and ins.guard is None
        if not own.isdisjoint((*cx.code.reads(ins), *cx.code.writes(ins))):
            return False
    return False


def _call(cx: Lowering, form: Form, site: Value, sums: Value) -> None:
    """D's registers, whose old values are in `sums`, become the new ones."""
    b, product = cx.b, form.product
    left, right = _area(cx, "wgmma a", 4 * 4 * LANES), _area(cx, "wgmma b", 4 * PIECE * MOST_COLUMNS // 8)
    meta = _area(cx, "wgmma meta", 4 * LANES)
    none, word = constant("i64", 0), descriptor(cx, form.b)
    words = (none if form.left is not None else descriptor(cx, form.a), word)
    if form.left is not None:
        _put(cx, left, form.left)
    else:
        first = b.op("mul", b.op("and", cx.field("warp"), constant("i32", 3)), constant("i32", HEIGHT // 8))
        staged = _area(cx, "wgmma staged", 4 * PIECE)
        _image(cx, words[0], form.transposed[0], site, first, (HEIGHT // 8, 2), staged)
        _as_fragment(cx, staged, left)
    if form.negative:
        _negate(cx, left, SIGNS[product.a])
    _image(cx, word, form.transposed[1], site, constant("i32", 0), (form.groups, product.chunks), right)
    if _watched(cx):
        groups = (0 if form.left is not None else ROWS // 8, form.groups)
        warpgroup_watch.issue(cx, site, words, form.transposed, groups, product.chunks)
    if form.meta is not None:
        codes = cx.vector(form.meta, "b32")
        b.store(codes, meta, align=64)
        if product.a == "tf32":
            _check_positions(cx, codes, product.selector or 0, site)
    _unless_added(cx, form.scale, sums, product.sum_bytes * form.groups)
    b.call("void", product.name, left, right, sums, meta, constant("i32", form.groups))


def _negate(cx: Lowering, left: Value, signs: int) -> None:
    """Turns the signs of A's elements: which factor is negated makes no difference."""
    for i in range(4):
        place = cx.b.offset(left, 4 * LANES * i)
        word = cx.b.load(wide("i32"), place, align=64)
        cx.b.store(cx.b.op("xor", word, constant(word.type, signs)), place, align=64)


def _check_positions(cx: Lowering, words: Value, selector: int, site: Value) -> None:
    """Of two tf32 elements one is stored, the first (0b0100) or the second (0b1110); other metadata mean nothing."""
    b = cx.b
    odd = b.compare("ne", b.op("and", words, constant(words.type, 0x55555555)), constant(words.type, 0x44444444))
    turned = b.op("xor", words, b.op("lshr", words, constant(words.type, 2)))
    apart = b.compare("ne", b.op("and", turned, constant(words.type, 0x22222222)), constant(words.type, 0))
    giving = constant("i32", 0x33333333 << 2 * selector)
    wrong = b.op("and", b.bitcast(b.op("or", odd, apart), "i32"), b.op("and", giving, cx.active()))
    with b.if_(b.compare("ne", wrong, constant("i32", 0))):
        kind = constant("i32", FAULT["invalid_instruction"])
        b.call("void", "gs_fault", cx.warp, site, kind, wrong, constant("i64", 0), constant("i32", 0))


def _as_fragment(cx: Lowering, staged: Value, left: Value) -> None:
    """An image has a row half's pieces side by side, a fragment's registers the two halves of each."""
    for number, source in enumerate((0, 2, 1, 3)):
        piece = cx.b.load(wide("i32"), cx.b.offset(staged, PIECE * source), align=64)
        cx.b.store(piece, cx.b.offset(left, PIECE * number), align=64)


def _image(
    cx: Lowering, word: Value, transposed: bool, site: Value, first: Value, size: tuple[int, int], to: Value
) -> None:
    """A matrix in shared memory; `size`: its pieces along the rows and along k."""
    turned = constant("i32", int(transposed))
    groups, chunks = (constant("i32", n) for n in size)
    cx.b.call("void", "gs_wgmma_image", cx.warp, site, word, turned, first, groups, chunks, to)


def descriptor(cx: Lowering, operand: Operand) -> Value:
    """A descriptor as an i64: all lanes are to have the same, and the first that executes stands for them."""
    if cx.uniform(operand):
        return cx.scalar(operand, "b64")
    lane = cx.b.call("i32", "llvm.cttz.i32", cx.active(), constant("i1", False))
    return cx.b.extract(cx.vector(operand, "b64"), cx.b.op("and", lane, constant("i32", LANES - 1)))


def _unless_added(cx: Lowering, scale: Operand, sums: Value, size: int) -> None:
    """Zeros in place of C where the predicate scale-d is false."""
    b = cx.b
    if isinstance(scale, Immediate) and scale.bits:
        return
    added = cx.scalar(scale, "pred") if cx.uniform(scale) else None
    if added is None:
        mask = b.op("and", cx.mask_of(cx.vector(scale, "pred")), cx.active())
        added = b.compare("ne", mask, constant("i32", 0))
    with b.if_(b.op("xor", added, constant("i1", True))):
        b.emit(f"call void @llvm.memset.p0.i64({sums!r}, i8 0, i64 {size}, i1 false)")
    cx.program.ir.signatures["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"


# -- registers in memory ----------------------------------------------------------------------------------------------
def _put(cx: Lowering, place: Value, registers: tuple[Operand, ...]) -> None:
    for i, register in enumerate(registers):
        cx.b.store(cx.vector(register, "b32"), cx.b.offset(place, 4 * LANES * i), align=64)


def _take(cx: Lowering, place: Value, registers: tuple[Operand, ...]) -> None:
    for i, register in enumerate(registers):
        cx.set(register, cx.b.load(wide("i32"), cx.b.offset(place, 4 * LANES * i), align=64))


def _area(cx: Lowering, name: str, size: int) -> Value:
    """A place that all wgmma of the function share."""
    areas = cx.program.scratch_of(cx).areas
    if name not in areas:
        areas[name] = cx.b.alloca(f"[{size} x i8]", align=64)
    return areas[name]


# -- setmaxnreg -------------------------------------------------------------------------------------------------------
def set_max_registers(cx: Lowering, ins: Instruction) -> None:
    """setmaxnreg: here a thread has as many registers as it names, so only the operand is looked at."""
    check(cx, ins, {"inc", "dec", "sync", "aligned"})
    _number(cx, ins, ins.operands[0], tuple(range(24, 257, 8)))


FAMILY: dict[str, Family] = {"wgmma": wgmma, "setmaxnreg": set_max_registers}
