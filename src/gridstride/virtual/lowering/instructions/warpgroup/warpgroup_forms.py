"""The forms of wgmma.mma_async: an instruction's operands told apart."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.lowering.instructions.matrix.matrix_formats import FORMATS
from gridstride.virtual.lowering.instructions.matrix.matrix_memory import shape_of
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_products import HEIGHT, K_BYTES, WideProduct
from gridstride.virtual.ptx.module import Instruction, Operand, Vector
from gridstride.virtual.ptx.operands import immediate, items

RULES = ("satfinite", "and")
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
    meta: Operand | None
    negative: bool
    transposed: tuple[bool, bool]

    @property
    def left(self) -> tuple[Operand, ...] | None:
        """A's registers, None where a descriptor says where it is."""
        return self.a.items if isinstance(self.a, Vector) else None

    @property
    def groups(self) -> int:
        """Pieces of 8 columns."""
        return self.n // 8


def form_of(ins: Instruction) -> WarpgroupForm:
    """What the instruction says."""
    d_type, a_type, b_type = ins.types
    d, a, b, *remaining = ins.operands
    meta, selector = None, None
    if "sp" in ins.modifiers:
        meta, selector, *remaining = remaining
    scale, *numbers = remaining
    rule = next((word for word in RULES if word in ins.modifiers), "")
    first = FORMATS[a_type]
    product = WideProduct(HEIGHT, 8 * K_BYTES // first.bits, a_type, b_type, d_type, d_type, rule,
                          selector=None if selector is None else immediate(selector))  # fmt: skip
    signs, turns = (numbers[:2], numbers[2:]) if first.floating else ([], [])
    negative = sum(immediate(sign) < 0 for sign in signs) == 1
    turned = [False, False, *(immediate(turn) == 1 for turn in turns)]  # A in registers has no word of its own
    n = shape_of(ins)[1]
    return WarpgroupForm(product, n, items(d), a, b, scale, meta, negative, transposed=(turned[-2], turned[-1]))
