"""The forms of wgmma.mma_async: an instruction's operands told apart; what the ISA has not is refused."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.matrix.matrix_formats import FORMATS
from gridstride.virtual.lowering.instructions.matrix.matrix_memory import items, shape_of
from gridstride.virtual.lowering.instructions.operand_checks import check
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_products import HEIGHT, K_BYTES, WideProduct
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand, Vector

SUMS = {"f16": ("f16", "f32"), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",),
        "s8": ("s32",), "u8": ("s32",), "b1": ("s32",)}  # fmt: skip
"""Types of D for each type of A."""

MIXED = {"e4m3": "e5m2", "e5m2": "e4m3", "s8": "u8", "u8": "s8"}
WORDS = ("mma_async", "sp", "sync", "aligned", "satfinite", "and", "popc")
ROWS, MOST_COLUMNS = 64, 256


@dataclass(frozen=True, slots=True)
class WarpgroupForm:
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


def form_of(cx: Lowering, ins: Instruction) -> WarpgroupForm:
    """What the instruction says; what the ISA has not is refused."""
    m, n, k = shape_of(cx, ins)
    check(cx, ins, {*WORDS, f"m{m}n{n}k{k}"})
    if ins.modifiers[0] != "mma_async" or not {"sync", "aligned"} <= set(ins.modifiers) or len(ins.types) != 3:
        raise cx.unsupported(f"`{ins.name}`")
    d, a, second = ins.types
    remaining = list(ins.operands[3:])
    sparse = "sp" in ins.modifiers
    meta, selector = (
        (remaining.pop(0), number(cx, ins, remaining.pop(0), (0, 1))) if sparse and len(remaining) > 2 else (None, None)
    )
    rule = next((w for w in ("satfinite", "and") if w in ins.modifiers), "")
    product = WideProduct(HEIGHT, 8 * K_BYTES // FORMATS[a].bits if a in SUMS else 0, a, second, d, d, rule,
                          selector=selector)  # fmt: skip
    if not _legal(product, (m, n, k), ins) or len(ins.operands) < 4 or sparse is not product.sparse:
        raise cx.unsupported(f"`{ins.name}`")
    left = ins.operands[1]
    scale, *remaining = remaining
    numbers = _immediates(cx, ins, product, isinstance(left, Vector), remaining)
    form = WarpgroupForm(product, n, items(ins.operands[0]), left, ins.operands[2], scale, meta, *numbers)
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


def number(cx: Lowering, ins: Instruction, operand: Operand | None, legal: tuple[int, ...]) -> int:
    """An immediate operand; negative ones come with their sign."""
    if isinstance(operand, Immediate):
        value = operand.bits & 0xFFFFFFFF
        value -= (value >> 31) << 32
        if value in legal:
            return value
    raise cx.unsupported(f"`{ins.name}` with an operand that is not {' or '.join(map(str, legal))}")


def _immediates(
    cx: Lowering, ins: Instruction, product: WideProduct, from_registers: bool, operands: list[Operand]
) -> tuple[bool, tuple[bool, bool]]:
    """(whether A · B is negated, which matrices are transposed)."""
    floating = product.formats[0].floating
    turns = (0 if product.formats[0].bits != 16 else 1 if from_registers else 2) if floating else 0
    if len(operands) != 2 * floating + turns:
        raise cx.unsupported(f"`{ins.name}` with {len(ins.operands)} operands")
    signs = [number(cx, ins, o, (-1, 1)) for o in operands[: 2 * floating]]
    turned = [number(cx, ins, o, (0, 1)) == 1 for o in operands[2 * floating :]]
    turned = [False] * (2 - len(turned)) + turned
    return signs in ([-1, 1], [1, -1]), (turned[0], turned[1])
