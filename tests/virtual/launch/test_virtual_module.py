"""Modules on the virtual GPU: what is refused when they are loaded, and how kernels are called in messages."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.errors import UnsupportedTarget, source_name
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.ptx import PtxError

EMPTY = ".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyifPKfPf", "saxpy"),
        ("_ZN4deep5saxpyEi", "deep::saxpy"),
        ("_Z4tileIfLi16EEvPT_", "tile"),
        ("_Zoo", "_Zoo"),
    ],
)
def test_a_mangled_name_is_read_back(mangled: str, name: str) -> None:
    assert source_name(mangled) == name


OWN_OR_OLDER = [("h200", "sm_90a"), ("h200", "sm_75"), ("a100", "sm_80"), ("t4", "sm_75")]
ANOTHER = [("h200", "sm_100"), ("a100", "sm_90"), ("rtx4090", "sm_90a"), ("h200", "sm_80a")]


@pytest.mark.parametrize(("chip", "target"), OWN_OR_OLDER)
def test_ptx_for_this_chip_or_an_older_one_loads(chip: str, target: str) -> None:
    assert VirtualGPU(chip).load(EMPTY.format(target=target)) is not None


@pytest.mark.parametrize(("chip", "target"), ANOTHER)
def test_ptx_for_another_chip_is_refused_by_name(chip: str, target: str) -> None:
    with pytest.raises(UnsupportedTarget, match=target):
        VirtualGPU(chip).load(EMPTY.format(target=target))


def test_ptx_that_does_not_parse_says_where() -> None:
    with pytest.raises(PtxError, match="entri"):
        VirtualGPU().load(EMPTY.format(target="sm_90").replace("entry", "entri"))


def test_variables_are_given_back_with_the_module() -> None:
    device = VirtualGPU(memory=1 << 20)
    module = device.load(EMPTY.format(target="sm_90") + ".global .align 4 .b8 table[4096];\n")
    assert device.arena.used == 4096
    module.release()
    assert device.arena.used == 0


def test_a_kernel_launched_with_two_block_shapes_is_right_in_both() -> None:
    source = """__global__ void k(int* out) {
        out[threadIdx.y * blockDim.x + threadIdx.x] = threadIdx.x + 100 * threadIdx.y;
    }"""
    with gs.use(VirtualGPU()):
        kernel = gs.cuda(source)["k"]
        for x, y in ((64, 2), (16, 4), (5, 3), (7, 1)):
            out = np.zeros(x * y, "i4")
            kernel[1, (x, y)](out)
            assert out.tolist() == [i + 100 * j for j in range(y) for i in range(x)]


def test_a_kernel_runs_again_after_another_one_has_needed_more_room() -> None:
    source = """__global__ void count(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }
    __global__ void turn(int* out) {
        __shared__ int s[1024];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = s[1023 - threadIdx.x];
    }"""
    with gs.use(VirtualGPU()):
        module = gs.cuda(source)
        out = np.zeros(1024, "i4")
        for _ in range(2):
            module["count"][2, 32](out)
            assert out[:64].tolist() == [*range(32), *range(32)]
            module["turn"][1, 1024](out)  # 32 warps that wait: a stack for each of them
            assert out.tolist() == list(range(1023, -1, -1))
