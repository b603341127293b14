"""wgmma: four warps multiply matrices in shared memory (A also in registers), each warp its own 16 rows.

Each warp makes its rows where it issues the product; the warps begin together, and wait for one another where they wait
for a group (wgmma_groups.py). The observed build keeps account of what is in flight (warpgroup_watch.py).
"""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.analysis.warpgroup_registers import multiplies
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.warpgroup import warpgroup_tiles, warpgroup_watch
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_forms import (
    MOST_COLUMNS,
    ROWS,
    WarpgroupForm,
    form_of,
)
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_products import HEIGHT
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_watch import Watch
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand
from gridstride.virtual.ptx.operands import immediate, registers_of
from gridstride.virtual.runtime.copies.matrix_descriptors import PIECE

MOST_REGISTERS = 128
SIGNS = {"f16": 0x80008000, "bf16": 0x80008000, "tf32": 0x80000000, "e4m3": 0x80808080, "e5m2": 0x80808080}
"""Sign bits of the elements in a register."""


# -- lowering ---------------------------------------------------------------------------------------------------------
def wgmma(cx: Lowering, ins: Instruction) -> None:
    """wgmma.mma_async and what goes with it."""
    step = {"fence": _fence, "commit_group": _fence, "wait_group": _wait}.get(next(iter(ins.modifiers), ""), _multiply)
    step(cx, ins)


def _watched(cx: Lowering) -> bool:
    """True in the observed build."""
    return cx.program.observer.observes


def _fence(cx: Lowering, ins: Instruction) -> None:
    cx.b.call("void", "gs_warpgroup_apart" if "fence" in ins.modifiers else "gs_warpgroup_commit", cx.warp)
    if _watched(cx):
        cx.b.call("void", "gs_wgmma_fence" if "fence" in ins.modifiers else "gs_wgmma_commit", cx.warp)


def _wait(cx: Lowering, ins: Instruction) -> None:
    most_pending = immediate(ins.operands[0])
    cx.b.call("void", "gs_warpgroup_wait", cx.warp, constant("i32", most_pending), constant("i32", cx.program.site(cx)))
    if _watched(cx):
        cx.b.call("void", "gs_wgmma_wait", cx.warp, constant("i32", most_pending))


def _multiply(cx: Lowering, ins: Instruction) -> None:
    form = form_of(ins)
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
    with cx.conditional_code(), cx.b.if_(some):
        _call(cx, form, site, sums)
    _take(cx, sums, form.d)


def _product(cx: Lowering, form: WarpgroupForm, site: Value) -> None:
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
    first, *following = run
    own = set(registers_of(first.operands[0]))
    for ins in following:
        if multiplies(ins):
            same = ins.operands[0] == first.operands[0] and ins.types[0] == first.types[0]
            return same and ins.guard is None
        if not own.isdisjoint((*cx.code.reads(ins), *cx.code.writes(ins))):
            return False
    return False


def _call(cx: Lowering, form: WarpgroupForm, site: Value, sums: Value) -> None:
    """D's registers, whose old values are in `sums`, become the new ones."""
    b, product = cx.b, form.product
    left, right = _area(cx, "wgmma a", 4 * 4 * LANES), _area(cx, "wgmma b", 4 * PIECE * MOST_COLUMNS // 8)
    meta = _area(cx, "wgmma meta", 4 * LANES)
    b.call("void", "gs_warpgroup_begin", cx.warp, site)
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
    b.call("void", "gs_warpgroup_made", cx.warp)


def _negate(cx: Lowering, left: Value, signs: int) -> None:
    """Turns the signs of A's elements: which factor is negated makes no difference."""
    for i in range(4):
        pointer = cx.b.offset(left, 4 * LANES * i)
        word = cx.b.load(wide("i32"), pointer, align=64)
        cx.b.store(cx.b.op("xor", word, constant(word.type, signs)), pointer, align=64)


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
    for i, source in enumerate((0, 2, 1, 3)):
        piece = cx.b.load(wide("i32"), cx.b.offset(staged, PIECE * source), align=64)
        cx.b.store(piece, cx.b.offset(left, PIECE * i), align=64)


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
def _put(cx: Lowering, pointer: Value, registers: tuple[Operand, ...]) -> None:
    for i, register in enumerate(registers):
        cx.b.store(cx.vector(register, "b32"), cx.b.offset(pointer, 4 * LANES * i), align=64)


def _take(cx: Lowering, pointer: Value, registers: tuple[Operand, ...]) -> None:
    for i, register in enumerate(registers):
        cx.set(register, cx.b.load(wide("i32"), cx.b.offset(pointer, 4 * LANES * i), align=64))


def _area(cx: Lowering, name: str, size: int) -> Value:
    """A place that all wgmma of the function share."""
    areas = cx.program.scratch_of(cx).areas
    if name not in areas:
        areas[name] = cx.b.alloca(f"[{size} x i8]", align=64)
    return areas[name]
