"""Linear forms over LLVM scalars: the arithmetic that computes them, and their values in all lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gridstride.virtual.ir.builder import Builder, Value, constant, vector_constant
from gridstride.virtual.lowering.analysis.affine import Affine


@dataclass(frozen=True, slots=True)
class LlvmScalars:
    """Arithmetic on the scalars of a linear form, written as instructions (analysis.affine.Scalars)."""

    b: Builder

    def constant(self, width: int, value: int) -> Value:
        return constant(f"i{width}", value)

    def op(self, name: str, width: int, a: Any, b: Any) -> Value:
        if name == "add" and "0" in (a.name, b.name):
            return b if a.name == "0" else a  # type: ignore[no-any-return]
        if name == "mul" and "1" in (a.name, b.name):
            return b if a.name == "1" else a  # type: ignore[no-any-return]
        return self.b.op(name, self.b.resize(a, f"i{width}"), self.b.resize(b, f"i{width}"))

    def extend(self, a: Any, signed: bool) -> Value:
        return self.b.resize(a, "i64", signed=signed)

    def truncate(self, a: Any) -> Value:
        return self.b.resize(a, "i32")


def spread(b: Builder, form: Affine) -> Value:
    """A linear form as a vector."""
    type_ = f"i{form.width}"
    value = b.splat(form.base)
    if any(form.k):
        k = vector_constant(type_, form.k)
        value = k if form.base.name == "0" else b.op("add", value, k)
    for steps, u in form.terms:
        term = b.op("mul", b.splat(u), vector_constant(type_, steps))
        value = b.op("add", value, term)
    if form.extended:
        inner = b.resize(spread(b, form.extended.inner), "i64", signed=form.extended.signed)
        scaled = b.op("mul", inner, constant(inner.type, form.extended.scale))
        value = b.op("add", value, scaled)
    return value
