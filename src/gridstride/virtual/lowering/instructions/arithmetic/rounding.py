"""Directed rounding of f32 and f64 arithmetic: .rz, .rm, .rp by the processor's own rounding mode.

The mode is changed and set back inside small functions of their own that are never inlined: in line, the compiler could
move ordinary arithmetic in between. They are correct for every input, zeros' signs and overflow included, because the
hardware does the rounding.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import IrModule, Value, suffix
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction

MODES = {"rz": 0, "rp": 2, "rm": 3}
"""The argument of `llvm.set.rounding` for each directed mode; 1 is to nearest even."""

NEAREST = 1


def mode_of(ins: Instruction) -> str:
    """The rounding an instruction asks for: rz, rm, rp, or rn where it says nothing."""
    return next((m for m in ins.modifiers if m in MODES), "rn")


def directed(cx: Lowering, name: str, mode: str, args: list[Value]) -> Value:
    """One of fadd, fsub, fmul, fdiv, fma, sqrt, rounded toward zero (rz), down (rm) or up (rp)."""
    type_ = args[0].type
    function = f"gs_{name}_{mode}_{suffix(type_)}"
    if function not in cx.program.ir.defined:
        _define(cx.program.ir, function, name, MODES[mode], type_, len(args))
    return cx.b.call(type_, function, *args)


def _define(m: IrModule, function: str, name: str, mode: int, type_: str, count: int) -> None:
    b = m.builder()
    args = [Value(f"%x{i}", type_) for i in range(count)]
    dynamic = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
    callee = f"llvm.experimental.constrained.{name}.{suffix(type_)}"
    m.signatures[callee] = f"declare {type_} @{callee}({', '.join([type_] * count)}, metadata, metadata)"
    m.signatures["llvm.set.rounding"] = "declare void @llvm.set.rounding(i32)"
    b.emit(f"call void @llvm.set.rounding(i32 {mode}) strictfp")
    result = b.define(type_, f"call {type_} @{callee}({', '.join(map(repr, args))}, {dynamic}) strictfp")
    b.emit(f"call void @llvm.set.rounding(i32 {NEAREST}) strictfp")
    b.ret(result)
    # Internal: every kernel's module has its own, and several may be loaded at once.
    m.add(function, f"internal {type_} @{function}({', '.join(map(repr, args))}) noinline strictfp", b)
