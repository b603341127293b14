"""Lanes whose results mean nothing, of instructions that take values from other lanes or multiply matrices.

Each rule gives the mask of a result from those of the operands, as vectors of bits over the lanes; a rule without a
mask found that nothing of it can be without meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from gridstride.virtual.ir.builder import Value, constant, vector_constant, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import accumulator
from gridstride.virtual.lowering.instructions.matrix.matrix_memory import TRANSPOSED, shape_of
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand, Vector
from gridstride.virtual.ptx.operands import items

MaskOf = Callable[[Operand], "Value | None"]
"""The lanes in which an operand means nothing; None where it always means something."""

NONE, ALL = constant("i32", 0), constant("i32", -1)


def either(cx: Lowering, masks: Sequence[Value | None]) -> Value | None:
    """Lanes of any of the masks."""
    present = [mask for mask in masks if mask is not None]
    return reduce(lambda x, y: cx.b.op("or", x, y), present) if present else None


def all_of(cx: Lowering, masks: Sequence[Value | None]) -> Value | None:
    """Lanes of all the masks."""
    if not masks or any(mask is None for mask in masks):
        return None
    return reduce(lambda x, y: cx.b.op("and", x, y), [mask for mask in masks if mask is not None])


def everywhere(cx: Lowering, condition: Value) -> Value:
    """All lanes where an i1 holds, else none."""
    return cx.b.select(condition, ALL, NONE)


# -- votes and reductions ---------------------------------------------------------------------------------------------
def group(cx: Lowering, ins: Instruction, mask_of: MaskOf) -> Value | None:
    """vote, match, redux: all members get what one of them spoils, unless the others decide a vote."""
    b, sync = cx.b, "sync" in ins.modifiers
    own = mask_of(ins.operands[1])
    named = mask_of(ins.operands[-1]) if sync else None
    if own is None:
        return named
    spoilt = b.op("and", own, cx.active())
    members = cx.value(ins.operands[-1], "b32") if sync else ALL
    met = _named_by_members(cx, members, spoilt)
    if ins.opcode == "vote" and {"any", "all"} & set(ins.modifiers):
        bits = b.bitcast(cx.vector(ins.operands[1], "pred"), "i32")
        decisive = b.op("xor", bits, ALL) if "all" in ins.modifiers else bits
        sure = b.op("and", b.op("and", decisive, b.op("xor", own, ALL)), cx.active())
        met = b.op("and", met, b.op("xor", _named_by_members(cx, members, sure), ALL))
    return either(cx, [met, named])


def _named_by_members(cx: Lowering, members: Value, lanes: Value) -> Value:
    """The lanes whose member mask names one of `lanes`."""
    b = cx.b
    if not members.wide:
        return everywhere(cx, b.compare("ne", b.op("and", members, lanes), NONE))
    common = b.op("and", members, b.splat(lanes))
    return b.bitcast(b.compare("ne", common, constant(wide("i32"), 0)), "i32")


# -- matrices ---------------------------------------------------------------------------------------------------------
def gathered(cx: Lowering, mask: Value, sources: Sequence[int]) -> Value:
    """For each lane the bit of the lane that it reads."""
    b, one = cx.b, constant(wide("i32"), 1)
    bits = b.op("and", b.op("lshr", b.splat(mask), vector_constant("i32", sources)), one)
    return b.bitcast(b.compare("ne", bits, constant(wide("i32"), 0)), "i32")


def transposed(cx: Lowering, ins: Instruction, mask_of: MaskOf) -> Value | None:
    """movmatrix: each register holds two elements, which come from two lanes."""
    mask = mask_of(ins.operands[1])
    return None if mask is None else either(cx, _halves(cx, mask))


def matrix_words(cx: Lowering, mask: Value) -> Value:
    """ldmatrix and stmatrix: lanes by the places of their words in memory, or places by lanes.

    As of memory, a word that means something in part counts as if it did.
    """
    if "trans" not in cx.ins.modifiers:
        return mask
    merged = all_of(cx, _halves(cx, mask))
    assert merged is not None
    return merged


def _halves(cx: Lowering, mask: Value) -> list[Value]:
    """For the lower and the upper element of each lane's word of a transpose, the bit of the lane that had it."""
    return [gathered(cx, mask, [at // 2 for at in TRANSPOSED[half::2]]) for half in (0, 1)]


def product(cx: Lowering, ins: Instruction, mask_of: MaskOf) -> list[Value | None]:
    """mma, wmma, wgmma: a mask for each register of the result."""
    if ins.opcode == "wgmma":
        return _group_product(cx, ins, mask_of)
    targets, first, second, sums = (items(operand) for operand in ins.operands[:4])
    meta = either(cx, [mask_of(o) for o in ins.operands[4:5]])
    a, b = [mask_of(o) for o in first], [mask_of(o) for o in second]
    factor_masks = [entire(cx, a), entire(cx, b), None if meta is None else _some(cx, meta)]
    sum_masks = [mask_of(o) for o in sums] if len(sums) == len(targets) else [None] * len(targets)
    if ins.opcode == "wmma" or _volta(ins):
        return [either(cx, [*factor_masks, own]) for own in sum_masks]
    halves = shape_of(ins)[0] // 8
    rows = [_rows(cx, either(cx, a[half::halves])) for half in range(halves)]
    columns = _columns(cx, either(cx, b))
    packed = 2 if len(targets) == halves else 1
    masks: list[Value | None] = []
    for register, own in enumerate(sum_masks):
        half = accumulator(register, 0, 0, packed)[0] // 8
        odd = {accumulator(register, 0, item, packed)[1] % 2 for item in range(packed)}
        masks.append(either(cx, [rows[half], *(columns[column] for column in odd), factor_masks[2], own]))
    return masks


def _volta(ins: Instruction) -> bool:
    return "m8n8k4" in ins.modifiers and ins.types[-1] != "f64"


def _some(cx: Lowering, mask: Value) -> Value:
    return everywhere(cx, cx.b.compare("ne", mask, NONE))


def entire(cx: Lowering, masks: Sequence[Value | None]) -> Value | None:
    """All lanes, where no register of an operand means anything in any lane."""
    total = all_of(cx, masks)
    return None if total is None else everywhere(cx, cx.b.compare("eq", total, ALL))


def _rows(cx: Lowering, mask: Value | None) -> Value | None:
    """Lanes 4g to 4g + 3 hold row g of A and of the result."""
    if mask is None:
        return None
    b = cx.b
    for by in (1, 2):
        mask = b.op("or", mask, b.op("lshr", mask, constant("i32", by)))
    return b.op("mul", b.op("and", mask, constant("i32", 0x11111111)), constant("i32", 15))


def _columns(cx: Lowering, mask: Value | None) -> list[Value | None]:
    """Lanes whose even, and whose odd column of the result has no meaning: lanes 4g to 4g + 3 hold column g of B."""
    spread = _rows(cx, mask)
    if spread is None:
        return [None, None]
    b = cx.b
    group_masks = []
    for odd in (0, 1):
        lanes = [vector for g in range(odd, 8, 2) for vector in [(g, 0x11111111 << g // 2)]]
        masks = [
            everywhere(cx, b.compare("ne", b.op("and", spread, constant("i32", 1 << 4 * g)), NONE)) for g, _ in lanes
        ]
        chosen = [b.op("and", column, constant("i32", to)) for column, (_, to) in zip(masks, lanes, strict=True)]
        group_masks.append(either(cx, chosen))
    return group_masks


def _group_product(cx: Lowering, ins: Instruction, mask_of: MaskOf) -> list[Value | None]:
    """wgmma adds to its registers, unless scale-d is false; a matrix in shared memory is not looked at."""
    first = ins.operands[1]
    all_lanes = entire(cx, [mask_of(o) for o in first.items]) if isinstance(first, Vector) else None
    scale = ins.operands[5 if "sp" in ins.modifiers else 3]
    adds = cx.b.bitcast(cx.vector(scale, "pred"), "i32") if not isinstance(scale, Immediate) else None
    masks = []
    for target in items(ins.operands[0]):
        own = mask_of(target)
        if isinstance(scale, Immediate) and scale.bits == 0:
            own = None
        elif own is not None and adds is not None:
            own = cx.b.op("and", own, adds)
        masks.append(either(cx, [own, all_lanes]))
    return masks
