"""`run --late` and the driver's own calls: each is done in its turn, behind what its stream was given before."""

from __future__ import annotations

import pytest

from .driver_programs import Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

BEGIN = r"""
#include <cstdio>
#include <cuda.h>
__global__ void put(int *p, int value) { *p = value; }
int main() {
  cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  int *d, *h; cudaMalloc(&d, 256); cudaMallocHost(&h, 256);
  CUdeviceptr p = (CUdeviceptr)d;
  auto show = [&] {
    cudaMemcpyAsync(h, d, 4, cudaMemcpyDeviceToHost, s); cudaStreamSynchronize(s); printf("%x\n", h[0]);
  };
"""


def test_fills_of_elements_come_behind_earlier_work_of_their_stream(program: Run) -> None:
    text = r"""
  put<<<1, 1, 0, s>>>(d, 1); cuMemsetD32Async(p, 0x01020304, 4, s); show();
  put<<<1, 1, 0, s>>>(d, 1); cuMemsetD16Async(p, 0x0506, 8, s); show();
  put<<<1, 1, 0, s>>>(d, 1); cuMemsetD2D32Async(p, 64, 0x0708090a, 2, 2, s); show();
  put<<<1, 1, 0, s>>>(d, 1); cuMemsetD2D16Async(p, 64, 0x0b0c, 2, 2, s); show();
  cuMemsetD32Async(p, 1, 4, s); put<<<1, 1, 0, s>>>(d, 2); show();
}
"""
    done = program(BEGIN + text, "--late")
    assert lines(done) == ["1020304", "5060506", "708090a", "b0c0b0c", "2"]
