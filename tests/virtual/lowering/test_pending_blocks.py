"""Kernels whose blocks may all wait for one another: what is kept over blocks stays in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gridstride as gs
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


def test_a_syncwarp_waits_for_lanes_that_still_poll() -> None:
    """What ends a lane's turn stands in one block with its __syncwarp() otherwise, and the lane would go past that."""
    kernel = gs.cuda("""extern "C" __global__ void k(int *out) {
        __shared__ volatile int turn; __shared__ int sum; const int t = threadIdx.x;
        if (t == 0) turn = 0, sum = 0;
        __syncwarp();
        while (turn != t) {}
        __threadfence_block(); sum += t; __threadfence_block();
        turn = t + 1;
        __syncwarp();
        if (t == 0) *out = sum;
    }""")["k"]
    out = np.zeros(1, np.int32)
    with gs.use(gs.VirtualGPU("h200", time_limit=20)):
        kernel[1, 32](out)
    assert out[0] == 496
