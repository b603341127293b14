"""Comparison and selection: setp, set, selp, slct, for integers and all float types."""

from __future__ import annotations

from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, Value, constant, like
from gridstride.virtual.ir.float_common import flush, flush_bits
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.value_types import llvm_type
from gridstride.virtual.ptx.module import DestinationPair, Instruction, Operand
from gridstride.virtual.ptx.types import TYPES

_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}
_FLOAT = {**_ORDERED, **_UNORDERED}
_EQUALITY = {"eq": "eq", "ne": "ne"}
_SIGNED = {**_EQUALITY, "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {**_EQUALITY, "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"} | {
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"
}  # fmt: skip
_PREDICATES = {"bits": _EQUALITY, "signed": _SIGNED, "unsigned": _UNSIGNED, "float": _FLOAT}
_HALVES = {"f16": half.F16, "f16x2": half.F16, "bf16": half.BF16, "bf16x2": half.BF16}
_COMBINE = ("and", "or", "xor")
_ONES = {"f32": 1.0, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
"""What `set` gives for true in a float type; in an integer type all bits are set."""


def _halves(b: Builder, value: Value, kind: half.Half, *, packed: bool, ftz: bool) -> list[Value]:
    """The f32 values of one half or, lowest first, of two."""
    words = [value]
    if packed:
        words = [b.resize(value, "i16"), b.resize(b.op("lshr", value, constant(value.type, 16)), "i16")]
    if ftz:
        words = [flush_bits(b, w, kind.exponent, half.SIGN) for w in words]
    return [half.widen(b, w, kind) for w in words]


def _comparable(cx: Lowering, ins: Instruction, value: Value, ptx_type: str) -> list[Value]:
    """What is compared of an operand: one value, or two of a packed type."""
    ftz = "ftz" in ins.modifiers
    if ptx_type in _HALVES:
        return _halves(cx.b, value, _HALVES[ptx_type], packed=TYPES[ptx_type].lanes == 2, ftz=ftz)
    return [flush(cx.b, value) if ftz and ptx_type == "f32" else value]


def _compared(cx: Lowering, ins: Instruction, ptx_type: str) -> tuple[list[Value], Value | None, str]:
    """The outcome per element, and the predicate it is combined with by the operation named."""
    name = _PREDICATES[TYPES[ptx_type].kind][ins.modifiers[0]]
    combine = ins.modifiers[1] if ins.modifiers[1] in _COMBINE else ""
    x, y, *c = cx.sources(ptx_type, ptx_type, *(["pred"] if combine else []))
    pairs = zip(_comparable(cx, ins, x, ptx_type), _comparable(cx, ins, y, ptx_type), strict=True)
    return [cx.b.compare(name, u, v) for u, v in pairs], c[0] if c else None, combine


def _joined(cx: Lowering, outcome: Value, other: Value | None, combine: str) -> Value:
    return outcome if other is None else cx.b.op(combine, outcome, other)


def set_predicate(cx: Lowering, ins: Instruction) -> None:
    """setp. The second destination gets the opposite comparison, or that of the upper halves of a packed type;
    without it a packed comparison gives that of the lower halves alone, as an H200 does.
    """
    outcomes, other, combine = _compared(cx, ins, ins.type)
    destination = ins.operands[0]
    if not isinstance(destination, DestinationPair):
        cx.set(destination, _joined(cx, outcomes[0], other, combine))
        return
    second = outcomes[1] if len(outcomes) == 2 else cx.negate(outcomes[0])
    results = zip((destination.destination, destination.predicate), (outcomes[0], second), strict=True)
    for where, outcome in sorted(results, key=lambda result: _is_guard(ins, result[0])):  # the guard is written last
        cx.set(where, _joined(cx, outcome, other, combine))


def _is_guard(ins: Instruction, where: Operand) -> bool:
    return ins.guard is not None and where == ins.guard.register


def set_value(cx: Lowering, ins: Instruction) -> None:
    """set: true as 1.0 of a float type, or as all ones; of packed halves each half of the result by itself."""
    b = cx.b
    to, of = ins.types
    outcomes, other, combine = _compared(cx, ins, of)
    kind = llvm_type(TYPES[to].element) if to in _ONES else "i16" if len(outcomes) == 2 else llvm_type(to)
    true_value = _ONES.get(to, -1)
    parts = []
    for outcome in outcomes:
        joined = _joined(cx, outcome, other, combine)
        true = constant(like(kind, joined.type), true_value)
        parts.append(b.select(joined, true, constant(true.type, 0)))
    if len(parts) == 2:
        low, high = (b.resize(p, "i32") for p in parts)
        parts = [b.op("or", low, b.op("shl", high, constant(high.type, 16)))]
    cx.set(ins.operands[0], parts[0], signed=to[0] == "s")


def select(cx: Lowering, ins: Instruction) -> None:
    """selp: a where the predicate holds, else b."""
    t = ins.type
    x, y, c = cx.sources(t, t, "pred")
    cx.set(ins.operands[0], cx.b.select(c, x, y), signed=t[0] == "s")


def select_by_sign(cx: Lowering, ins: Instruction) -> None:
    """slct: a where c ≥ 0 (-0 included), else b (NaN included)."""
    b = cx.b
    to, of = ins.types
    x, y, c = cx.sources(to, to, of)
    if of == "f32":
        c = flush(b, c) if "ftz" in ins.modifiers else c
        chosen = b.compare("oge", c, constant(c.type, 0.0))
    else:
        chosen = b.compare("sge", c, constant(c.type, 0))
    cx.set(ins.operands[0], b.select(chosen, x, y), signed=to[0] == "s")
