"""`run --late`: what the host has freed is gone for it at once, and there for work that it gave before."""

from __future__ import annotations

import pytest

from .program_output import CHECK, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

BEGIN = (
    CHECK
    + r"""
#include <cassert>
__global__ void set(int *p, int value) { *p = value; }
__global__ void fails() { assert(false); }
int main(int count, char **words) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  int *p, *h; cudaMallocHost(&h, 4); *h = -1;
  cudaMallocAsync(&p, 1 << 20, a);
  auto give_back = [&] { return count > 1 ? cudaFreeAsync(p, a) : cudaFree(p); };
"""
)
WAYS = [(), ("async",)]


@pytest.mark.parametrize("way", WAYS)
def test_the_hosts_calls_know_freed_memory_no_more(program: Run, way: tuple[str, ...]) -> None:
    text = r"""
  set<<<1, 1, 0, a>>>(p, 5); cudaMemcpyAsync(h, p, 4, cudaMemcpyDeviceToHost, a);
  NAME(give_back()); NAME(cudaFree(p)); NAME(cudaFreeAsync(p, a)); NAME(cudaMemset(p, 0, 4));
  NAME(cudaMemcpyAsync(h, p, 4, cudaMemcpyDeviceToHost, a));
  cudaPointerAttributes told; cudaPointerGetAttributes(&told, p); printf("%d %d\n", told.type, *h);
  NAME(cudaStreamSynchronize(a)); printf("%d\n", *h);
}
"""
    done = program(BEGIN + text, "--late", arguments=way)
    invalid = "cudaErrorInvalidValue"
    assert lines(done) == ["cudaSuccess", *[invalid] * 4, "0 -1", "cudaSuccess", "5"], done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_that_is_launched_behind_it_uses_freed_memory(program: Run, way: tuple[str, ...]) -> None:
    text = r"""
  set<<<1, 1, 0, a>>>(p, 5); give_back(); set<<<1, 1, 0, b>>>(p, 6); NAME(cudaStreamSynchronize(b));
}
"""
    done = program(BEGIN + text, "--late", arguments=way)
    assert lines(done) == ["cudaErrorIllegalAddress"]
    assert "use after free in kernel set" in done.stderr


def test_a_graph_that_is_launched_behind_it_copies_no_freed_memory(program: Run) -> None:
    text = r"""
  cudaGraph_t graph; cudaGraphExec_t exec;
  cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed); cudaMemcpyAsync(h, p, 4, cudaMemcpyDeviceToHost, b);
  cudaStreamEndCapture(b, &graph); cudaGraphInstantiate(&exec, graph, 0);
  set<<<1, 1, 0, a>>>(p, 5); cudaGraphLaunch(exec, a); cudaFree(p); cudaGraphLaunch(exec, a);
  cudaStreamSynchronize(a); printf("%d\n", *h);
}
"""
    assert lines(program(BEGIN + text, "--late")) == ["5"]


def test_freed_memory_counts_no_more(program: Run) -> None:
    text = r"""
  size_t before, behind, all; int *q = nullptr;
  for (int i = 0; i < 5; i++) {
    cudaFree(q); NAME(cudaMalloc(&q, 40 << 20));
    cudaMemGetInfo(&before, &all); set<<<1, 1, 0, a>>>(q, i);
  }
  cudaFree(q); cudaMemGetInfo(&behind, &all); printf("%zu\n", behind - before);
}
"""
    assert lines(program(BEGIN + text, "--late", "--memory", "64MiB")) == [*["cudaSuccess"] * 5, str(40 << 20)]


def test_a_pool_gives_back_what_it_held_until_the_host_waited(program: Run) -> None:
    text = r"""
  cudaMemPool_t pool; unsigned long long used, reserved; cudaDeviceGetDefaultMemPool(&pool, 0);
  set<<<1, 1, 0, a>>>(p, 5); cudaFreeAsync(p, a); cudaStreamSynchronize(a);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved); printf("%llu %llu\n", used, reserved);
}
"""
    assert lines(program(BEGIN + text, "--late")) == ["0 0"]


@pytest.mark.parametrize("way", WAYS)
def test_a_fault_that_is_known_is_given_by_what_frees_too(program: Run, way: tuple[str, ...]) -> None:
    text = r"""
  fails<<<1, 1>>>(); NAME(cudaDeviceSynchronize()); NAME(give_back());
}
"""
    assert lines(program(BEGIN + text, "--late", arguments=way)) == ["cudaErrorAssert"] * 2


def test_an_allocation_that_is_to_fail_fails(program: Run) -> None:
    text = "  int *q; NAME(cudaMalloc(&q, 4)); NAME(cudaMalloc(&q, 4));\n}\n"
    done = program(BEGIN + text, "--late", "--fail", "allocation=3")
    assert lines(done) == ["cudaErrorMemoryAllocation", "cudaSuccess"]
