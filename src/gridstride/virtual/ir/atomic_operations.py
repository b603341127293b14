"""What atom and red do to a value: the new value from an old one and an operand, for scalars and for vectors."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, Value, constant, wide
from gridstride.virtual.ir.extrema import extreme
from gridstride.virtual.ir.float_common import flush
from gridstride.virtual.ptx.types import TYPES

NATIVE = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "umin": "umin", "umax": "umax", "smin": "min", "smax": "max",
    "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap",
}  # fmt: skip
"""Operations on integers as LLVM's `atomicrmw` calls them."""


@dataclass(frozen=True, slots=True)
class AtomicOperation:
    """add umin umax smin smax and or xor inc dec exch cas on b16 … b128; add min max on f32, f64 and the halves."""

    op: str
    type: str

    @property
    def scalar(self) -> str:
        """The LLVM type of one value: halves and packed halves are their bits."""
        return {"f32": "float", "f64": "double"}.get(self.type) or f"i{TYPES[self.type].bits}"

    @property
    def vector(self) -> str:
        return wide(self.scalar)

    @property
    def size(self) -> int:
        return TYPES[self.type].size

    @property
    def floating(self) -> bool:
        return self.type[0] != "b" or self.type[1] == "f"

    @property
    def neutral(self) -> int | None:
        """The operand that changes nothing, for operations that may be grouped at will; None for the others."""
        if self.floating:
            return None
        top = 1 << (8 * self.size - 1)
        return {"add": 0, "or": 0, "xor": 0, "and": -1, "umin": -1, "umax": 0, "smin": top - 1, "smax": -top}.get(
            self.op
        )


def combine(b: Builder, what: AtomicOperation, space: str, old: Value, x: Value) -> Value:
    """What the operation makes of an old value and an operand, scalars or vectors."""
    op = what.op
    if what.floating:
        return _float(b, what, space, old, x)
    if op in ("add", "and", "or", "xor"):
        return b.op(op, old, x)
    if op in ("umin", "umax", "smin", "smax"):
        return b.intrinsic(op, old, x)
    if op == "exch":
        return x
    zero, one = constant(old.type, 0), constant(old.type, 1)
    if op == "inc":
        return b.select(b.compare("uge", old, x), zero, b.op("add", old, one))
    assert op == "dec", op
    wraps = b.op("or", b.compare("eq", old, zero), b.compare("ugt", old, x))
    return b.select(wraps, x, b.op("sub", old, one))


def _float(b: Builder, what: AtomicOperation, space: str, old: Value, x: Value) -> Value:
    if what.type == "f64":
        return b.op("fadd", old, x)
    if what.type == "f32":
        return _single(b, space, old, x)
    kind = half.F16 if what.type.startswith("f16") else half.BF16
    a, c = (half.widen(b, half.split(b, v), kind) for v in (old, x))
    result = b.op("fadd", a, c) if what.op == "add" else extreme(b, what.op, [a, c], ())
    return b.bitcast(half.narrow(b, result, kind), old.type)


def _single(b: Builder, space: str, old: Value, x: Value) -> Value:
    """atom.add.f32 flushes subnormals in global memory and keeps them in shared memory (PTX ISA, atom)."""
    if space == "shared":
        return b.op("fadd", old, x)
    return flush(b, b.op("fadd", flush(b, old), flush(b, x)))
