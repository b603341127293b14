"""mma.m8n8k4 of halves: four 8 × 8 × 4 multiplications, each by a quad of lanes and the quad 16 lanes above it.

Hopper has no such instruction; what ptxas writes for it multiplies and adds in f32, element 0 of k first and C last,
each step rounded to nearest (seen on an H200, bit for bit). The layout is that of the PTX ISA ("Matrix Fragments for
mma.m8n8k4 with .f16 floating point type").
"""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, Value, constant, vector_constant
from gridstride.virtual.ir.float_common import canonical
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction, Operand
from gridstride.virtual.ptx.operands import items

Place = Callable[[int, int], tuple[int, int]]
"""(element, lane) to (row, column)."""


def multiply(cx: Lowering, ins: Instruction) -> None:
    """mma.sync.aligned.m8n8k4.{row,col}.{row,col}.dtype.f16.f16.ctype."""
    d, _, _, c = ins.types
    orders = [m for m in ins.modifiers if m in ("row", "col")]
    matrices = [list(items(o)) for o in ins.operands]
    left, right = (_halves(cx, x) for x in matrices[1:3])
    addend = _halves(cx, matrices[3]) if c == "f16" else [cx.vector(o, "f32") for o in matrices[3]]
    to, of = _PLACES[d], _PLACES[c]
    totals = []
    for element in range(8):
        where = [to(element, lane) for lane in range(LANES)]
        total: Value | None = None
        for k in range(4):
            x = _pick(cx.b, left, [_a(orders[0], row, k, lane) for lane, (row, _) in enumerate(where)])
            y = _pick(cx.b, right, [_b(orders[1], k, column, lane) for lane, (_, column) in enumerate(where)])
            total = cx.b.op("fmul", x, y) if total is None else cx.b.intrinsic("fma", x, y, total)
        assert total is not None
        z = addend[element] if d == c else _pick(cx.b, addend, [_source(of, at, i) for i, at in enumerate(where)])
        totals.append(cx.b.op("fadd", total, z))
    _write(cx, matrices[0], totals, d)


def _halves(cx: Lowering, operands: list[Operand]) -> list[Value]:
    """Packed halves as f32, the lowest first."""
    halves = []
    for operand in operands:
        word = cx.vector(operand, "b32")
        for shift in (0, 16):
            part = cx.b.op("lshr", word, constant(word.type, shift)) if shift else word
            halves.append(half.widen(cx.b, cx.b.resize(part, "i16"), half.F16))
    return halves


def _write(cx: Lowering, targets: list[Operand], totals: list[Value], kind: str) -> None:
    b = cx.b
    if kind == "f32":
        for target, total in zip(targets, totals, strict=True):
            cx.set(target, canonical(b, total))
        return
    words = [b.resize(half.narrow(b, total, half.F16), "i32") for total in totals]
    for target, low, high in zip(targets, words[0::2], words[1::2], strict=True):
        cx.set(target, b.op("or", low, b.op("shl", high, constant(high.type, 16))))


# -- places -----------------------------------------------------------------------------------------------------------
def _by_row(element: int, lane: int) -> tuple[int, int]:
    return lane % 4 + 4 * (lane // 16), element


def _by_pair(element: int, lane: int) -> tuple[int, int]:
    return (lane & 1) + (element & 2) + 4 * (lane // 16), (element & 4) + (lane & 2) + (element & 1)


_PLACES: dict[str, Place] = {"f16": _by_row, "f32": _by_pair}
"""Where C's and D's elements stand."""


def _lane(quad: int, upper: int, position: int) -> int:
    """Lane `place` of a quad or of the one 16 lanes above it."""
    return 16 * upper + 4 * quad + position


def _a(order: str, row: int, k: int, lane: int) -> tuple[int, int]:
    """(item, lane) that hold an element of A for the quads that a lane belongs to."""
    position, item = (row % 4, k) if order == "row" else (k, row % 4)
    return item, _lane(lane % 16 // 4, row // 4, position)


def _b(order: str, k: int, column: int, lane: int) -> tuple[int, int]:
    position, item = (k, column % 4) if order == "row" else (column % 4, k)
    return item, _lane(lane % 16 // 4, column // 4, position)


def _source(of: Place, at: tuple[int, int], lane: int) -> tuple[int, int]:
    """(item, lane) that hold an element of C."""
    lanes = [_lane(lane % 16 // 4, upper, position) for upper in range(2) for position in range(4)]
    return next((item, other) for other in lanes for item in range(8) if of(item, other) == at)


def _pick(b: Builder, values: list[Value], positions: list[tuple[int, int]]) -> Value:
    """For each lane the element (item, lane) of some vectors."""
    result: Value | None = None
    for item in sorted({item for item, _ in positions}):
        moved = b.shuffle(values[item], [lane for _, lane in positions])
        if result is None:
            result = moved
        else:
            selected = vector_constant("i1", [int(i == item) for i, _ in positions])
            result = b.select(selected, moved, result)
    assert result is not None
    return result
