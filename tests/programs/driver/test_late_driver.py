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


def test_values_that_a_stream_writes_come_behind_its_earlier_work(program: Run) -> None:
    text = r"""
  put<<<1, 1, 0, s>>>(d, 1); cuStreamWriteValue32(s, p, 0x32, 0); show();
  put<<<1, 1, 0, s>>>(d, 1); cuStreamWriteValue64(s, p, 0x33, 0); show();
  CUstreamBatchMemOpParams one = {}; one.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  one.writeValue.address = p; one.writeValue.value = 0x34;
  put<<<1, 1, 0, s>>>(d, 1); cuStreamBatchMemOp(s, 1, &one, 0); show();
}
"""
    done = program(BEGIN + text, "--late")
    assert lines(done) == ["32", "33", "34"]


def test_a_value_that_another_stream_writes_is_waited_for(program: Run) -> None:
    text = r"""
  cudaStream_t t; cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  put<<<1, 1, 0, t>>>(d, 7); cuStreamWriteValue32(t, p + 64, 1, 0);
  printf("%d\n", cuStreamWaitValue32(s, p + 64, 1, CU_STREAM_WAIT_VALUE_EQ)); show();
}
"""
    assert lines(program(BEGIN + text, "--late")) == ["0", "7"]
