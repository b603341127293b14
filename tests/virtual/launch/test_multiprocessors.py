"""Launches on some of the chip's multiprocessors."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from gridstride.protocol import LaunchError, Shape
from gridstride.virtual.chips import chip
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.launch.multiprocessors import workers_of
from gridstride.virtual.launch.virtual_kernel import resident_blocks

WHERE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry where(.param .u64 to)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [to];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  mov.u32 %r2, %smid;
  st.global.u32 [%d1], %r2;
  ret;
}
"""


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("blocks", [2, 300])
def test_blocks_take_turns_with_the_multiprocessors(sanitize: bool, blocks: int) -> None:
    gpu = VirtualGPU(sanitize=sanitize, workers=2, memory=1 << 20)
    address = gpu.allocate(4 * blocks)
    shape = Shape((blocks, 1, 1), (1, 1, 1), multiprocessors=(4, 6, 7))
    gpu.load(WHERE).kernels["where"].launch(shape, struct.pack("<Q", address))
    numbers = np.frombuffer(ctypes.string_at(address, 4 * blocks), "<u4")
    assert numbers.tolist() == [(4, 6, 7)[block % 3] for block in range(blocks)]


def test_a_kernel_that_asks_where_it_runs_has_one_worker() -> None:
    some, whole = Shape((9, 1, 1), (1, 1, 1), multiprocessors=(4, 6, 7)), Shape((9, 1, 1), (1, 1, 1))
    assert workers_of(some, 2, [WHERE]) == 1
    assert workers_of(some, 2, [WHERE.replace("%smid", "%nsmid")]) == 2
    assert workers_of(whole, 2, [WHERE]) == 2


def test_a_cooperative_grid_must_fit_them() -> None:
    model = chip("h200")
    some = Shape((6, 1, 1), (1024, 1, 1), cooperative=True, multiprocessors=(4, 6, 7))
    assert resident_blocks(model, some, 0, "k") == 6
    with pytest.raises(LaunchError, match="3 multiprocessors of NVIDIA H200, which holds 6 blocks"):
        resident_blocks(model, Shape((7, 1, 1), (1024, 1, 1), cooperative=True, multiprocessors=(4, 6, 7)), 0, "k")
