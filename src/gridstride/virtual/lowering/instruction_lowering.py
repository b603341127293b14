"""One instruction as LLVM IR: as a new linear form of its destination, or by the emitter of its opcode."""

from __future__ import annotations

from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.affine_transfer import linear_result
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.linear_values import LlvmScalars
from gridstride.virtual.ptx.isa import ISA, Uniformity
from gridstride.virtual.ptx.module import Instruction, Register


def lower_instruction(cx: Lowering, ins: Instruction) -> None:
    """Writes one instruction that is not the end of its block."""
    cx.ins = ins
    cx.program.observer.before(cx, ins)
    if not _lower_linear(cx, ins):
        cx.program.emitters[ins.opcode](cx, ins)


def _lower_linear(cx: Lowering, ins: Instruction) -> bool:
    """Writes an instruction whose result is a linear form; False where it has to be written otherwise."""
    destination = ins.operands[0] if ins.operands else None
    if not isinstance(destination, Register):
        return False
    shape = cx.facts.shape.get(destination.name)
    if shape is None or ISA[ins.opcode].result is not Uniformity.AFFINE:
        return False
    varying = not all(cx.uniform(o) for o in ins.operands[1:])
    form = linear_result(LlvmScalars(cx.b), ins, cx.linear) if varying else None
    if form is None:
        return False
    assert form.key == shape.key, (ins.name, ins.ptx_line)
    if shape.uniform:
        cx.set(destination, form.base)
    else:
        bounded = Affine(form.width, form.base, form.k, form.terms, form.extended, shape.align, shape.top)
        cx.set_linear(destination.name, bounded)
    return True
