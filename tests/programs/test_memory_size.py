"""Amounts of memory as people write them, and programs on a GPU that has little."""

from __future__ import annotations

import pytest

from gridstride.programs.memory_size import memory_size

from .conftest import Run

AMOUNTS = {"1": 1, "512KiB": 512 << 10, "64MiB": 64 << 20, "1.5 GB": 3 << 29, "2t": 2 << 40}


@pytest.mark.parametrize("text", AMOUNTS)
def test_amounts_are_in_powers_of_two(text: str) -> None:
    assert memory_size(text) == AMOUNTS[text]


@pytest.mark.parametrize("text", ["", "0", "much", "-1MiB", "1e3", "5XiB", "9" * 20])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no amount of memory"):
        memory_size(text)


@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.parametrize("word", [None, "--sanitize", "--predict"])
def test_a_program_gets_no_more_than_its_gpu_has(program: Run, word: str | None) -> None:
    text = """
#include <cstdio>
int main() {
  size_t left, all; cudaDeviceProp p; void *x, *y, *z;
  printf("%s\\n", cudaGetErrorName(cudaMalloc(&x, 65 << 20)));
  printf("%s\\n", cudaGetErrorName(cudaMalloc(&x, 48 << 20)));
  printf("%s\\n", cudaGetErrorName(cudaMallocAsync(&y, 48 << 20, 0)));
  cudaArray_t a; cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  printf("%s\\n", cudaGetErrorName(cudaMallocArray(&a, &d, 4096, 1280)));
  printf("%s\\n", cudaGetErrorName(cudaMallocHost(&z, 128 << 20)));
  cudaMemGetInfo(&left, &all); cudaGetDeviceProperties(&p, 0);
  printf("%zu %zu %zu\\n", left >> 20, all >> 20, p.totalGlobalMem >> 20);
  cudaFree(x); cudaFreeHost(z);
}
"""
    done = program(text, *([word] if word else []), "--memory", "64MiB")
    no, yes = "cudaErrorMemoryAllocation", "cudaSuccess"
    assert done.stdout.splitlines() == [no, yes, no, no, yes, "16 64 64"]
    assert done.returncode == 0
