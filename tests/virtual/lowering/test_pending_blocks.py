"""Kernels whose blocks may all wait for one another: what is kept over blocks stays in memory."""

from __future__ import annotations

from pathlib import Path

from gridstride.compiler import compile_cuda
from gridstride.kernels import decode_step
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.machine import engine
from gridstride.virtual.ptx import parse

STREAMED = Path(decode_step.__path__[0]) / "rungs" / "01_streamed.cu"


def test_gates_of_barriers_are_no_values_of_every_block() -> None:
    """In LLVM's form each would need a phi in each of 443 blocks: the register coalescer took 17 s over those."""
    module = parse(compile_cuda(STREAMED.read_text()).ptx)
    (entry,) = module.entries
    lowered = lower_kernel(module, entry.name, BlockShape.of(256, 1, 1))
    llvm = engine._llvm()
    promoted = llvm.parse_assembly(lowered.ir)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(promoted, llvm.create_pass_builder(engine._machine(), llvm.create_pipeline_tuning_options()))
    assert str(promoted).count(" = phi ") < 2 * str(lowered.ir).count(" = phi ") + 100
