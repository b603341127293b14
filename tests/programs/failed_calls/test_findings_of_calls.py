"""Errors that a program drops: `gridstride run --sanitize` says which call, which error and which line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from gridstride.programs.failed_calls.findings_of_calls import FailedCall, finding_of

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_launch_s_error_is_asked_for_behind_it() -> None:
    call = FailedCall("launch", "_Z1kPi", "cudaErrorInvalidValue", "invalid argument", 0, [], 3)
    finding = finding_of(call)
    assert finding is not None
    assert finding.kind == "unchecked_error"
    assert str(finding) == (
        "unchecked error: the launch of k gave cudaErrorInvalidValue 3 times (invalid argument), and the program did "
        "not look: cudaGetLastError() behind the launch says so"
    )


DROPS = """
#include <cstdio>
__global__ void k(int *p) { *p = 1; }
static void give_back(void **p, int n) {
    for (int i = 0; i < n; i++)
        cudaFree(p[i]);
}
int main() {
    int *p, host[4];
    void *bad[2] = {host, host + 1};
    cudaMalloc(&p, 1ull << 60);
    k<<<1, 2048>>>(p);
    give_back(bad, 2);
    cudaMemcpy(host, nullptr, 16, cudaMemcpyDeviceToHost);
}
"""
LOOKS = """
#include <cstdio>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) puts(cudaGetErrorString(e)); } while (0)
__global__ void k(int *p) { *p = 1; }
cudaError_t passed_on(void *p) { return cudaFree(p); }
int main() {
    int *p, host[4];
    if (cudaMalloc(&p, 1ull << 60) != cudaSuccess && cudaMalloc(&p, 4) == cudaSuccess) puts("less");
    CHECK(cudaFree(host));
    if (passed_on(host)) puts("no");
    k<<<1, 2048>>>(p);
    CHECK(cudaGetLastError());
    cudaMemset(host, 0, 16);
    if (cudaPeekAtLastError()) puts("late");
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    cudaStreamQuery(s);
    CHECK(cudaStreamDestroy(s));
    return cudaFree(p);
}
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_error_that_is_dropped_is_found_once_with_its_line(program: Run) -> None:
    done = program(DROPS, "--sanitize")
    found = [line for line in done.stderr.splitlines() if "unchecked error" in line]
    assert [line.split(", and")[0] for line in found] == [
        "gridstride: prog.cu:11: unchecked error: cudaMalloc gave cudaErrorMemoryAllocation (out of memory)",
        "gridstride: prog.cu:12: unchecked error: the launch of k gave cudaErrorInvalidConfiguration (invalid "
        "configuration argument)",
        "gridstride: prog.cu:6: unchecked error: cudaFree gave cudaErrorInvalidValue (invalid argument)",
        "gridstride: prog.cu:14: unchecked error: cudaMemcpy gave cudaErrorInvalidValue (invalid argument)",
    ]
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_error_that_is_looked_at_is_none(program: Run) -> None:
    done = program(LOOKS, "--sanitize")
    assert "unchecked" not in done.stderr
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_call_that_is_made_to_fail_shows_whether_anybody_looks(program: Run) -> None:
    text = "int main() { int *p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); cudaFree(p); }"
    done = program(text, "--sanitize", "--fail", "cudaMemset=1")
    assert "prog.cu:1: unchecked error: cudaMemset gave cudaErrorUnknown" in done.stderr
