"""What findings call things: the array and the element, the line in the header, what a stored value is worth."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs

HEAD = 'extern "C" __global__ void k({parameters}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}'


def faulted(parameters: str, body: str, *args: object, grid: int = 4, block: int = 256) -> gs.Finding:
    with pytest.raises(gs.KernelFault) as caught:
        gs.cuda(HEAD.format(parameters=parameters, body=body))["k"][grid, block](*args)
    return caught.value.findings[0]


def floats(count: int) -> np.ndarray:
    return np.zeros(count, np.float32)


OUT = [
    ("float *x, const float *y", "x[i] = y[i];", (1000, 1024), r"write of 4 bytes at x\[1000\] of 1000 elements, just"),
    ("float *x, const float *y", "x[i] = y[i - 1];", (1024, 1024), r"read of 4 bytes at y\[-1\] of 1024 elements, 4 b"),
    ("float *x, const float4 *y", "x[i] = y[i].y;", (1024, 400), r"at y\[100\] of 100 elements, 4 bytes past"),
    ("float *x, unsigned char *y", "y[i] = 1;", (4, 1023), r"write of 1 byte.* at y\[1023\] of 1023 elements"),
    ("float *x, float *y", "atomicAdd(&x[i / 8], y[i]);", (10, 1024), r"at x\[10\] of 10 elements"),
]


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize(("parameters", "body", "sizes", "message"), OUT, ids=[o[1] for o in OUT])
def test_out_of_bounds_names_parameter_index_and_extent(
    gpu: gs.VirtualGPU, parameters: str, body: str, sizes: tuple[int, int], message: str, sanitize: bool
) -> None:
    gpu.sanitize = sanitize
    arrays = [np.zeros(n, np.uint8) if "char *" + "xy"[j] in parameters else floats(n) for j, n in enumerate(sizes)]
    found = faulted(parameters, body, *arrays)
    assert found.kind == "out_of_bounds"
    assert re.search(message, found.message), found.message


def test_far_out_of_bounds_it_is_the_array_that_the_address_is_made_from(gpu: gs.VirtualGPU) -> None:
    """Not the one that happens to lie nearest."""
    x, y = gs.to_device(floats(64)), gs.to_device(floats(1 << 20))
    assert x.address < y.address
    distance = (y.address - x.address + y.nbytes) // 4 + 2
    found = faulted("float *x, float *y, int n", "x[n] = y[0];", x, y, distance, grid=1, block=1)
    assert f"x[{distance}] of 64 elements" in found.message


def test_an_address_that_belongs_to_no_parameter_stays_an_address(gpu: gs.VirtualGPU) -> None:
    found = faulted("long long at", "*(int *)at = i;", 0xDEAD00000000, grid=1, block=1)
    assert "at address 0xdead00000000" in found.message


def test_a_race_names_the_element_as_the_kernel_does(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    found = faulted("float *x, short *y", "y[i] = 0; x[i / 64 * 3] = i;", floats(64), np.zeros(256, np.int16), grid=1)
    assert found.kind == "race"
    assert "writes x[0], which" in found.message


SHUFFLE = """extern "C" __global__ void k(float *x) {
    __shared__ float s[32];
    float v = x[threadIdx.x];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) x[0] = s[0];
}"""


def test_a_shuffle_past_a_block_of_16_is_not_called_unwritten_memory(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    with pytest.raises(gs.KernelFault) as caught:
        gs.cuda(SHUFFLE)["k"][1, 16](floats(16))
    (found,) = caught.value.findings
    assert "no thread of the block had written" not in found.message
    assert "where a thread has stored a value that means nothing" in found.message
    assert "by a shuffle from a lane that" in found.message


def test_shared_memory_that_nobody_wrote_is_still_called_that(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    with pytest.raises(gs.KernelFault, match="which no thread of the block had written"):
        gs.cuda(SHUFFLE.replace("s[0]", "s[1]"))["k"][1, 32](floats(32))


HEADER = """template <class T> __device__ void put(T *s) {

    s[threadIdx.x % 32] = threadIdx.x;
}
"""
INCLUDES = """#include "tile.h"
extern "C" __global__ void k(float *x) {
    __shared__ float s[32];
    put(s);
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x % 32];
}"""


def test_a_race_in_an_included_header_is_shown_there(gpu: gs.VirtualGPU, tmp_path: Path) -> None:
    (tmp_path / "tile.h").write_text(HEADER)
    gpu.sanitize = True
    with pytest.raises(gs.KernelFault) as caught:
        gs.cuda(INCLUDES, include_paths=(tmp_path,))["k"][1, 64](floats(64))
    (found,) = caught.value.findings
    assert (Path(found.file or "").name, found.line) == ("tile.h", 3)
    assert found.other is not None
    assert found.other.line == 3


ZERO = """
.version 8.1
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k() {
    .shared .align 4 .b8 s[128];
    .reg .b32 %r<3>;
    .loc 1 7 0
    mov.u32 %r1, %tid.x;
    .loc 1 0 0
    st.shared.b32 [s], %r1;
    .loc 1 9 0
    ret;
}
"""


def test_line_0_is_the_line_before(gpu: gs.VirtualGPU) -> None:
    (found,) = gs.ptx(ZERO)["k"].observe(1, 64)().findings
    assert (found.kind, found.line) == ("race", 7)
    assert "in line 7" in found.message
