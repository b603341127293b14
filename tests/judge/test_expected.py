"""A kernel with other parameters than the problem's is told which one, and what the whole should look like."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.judge.execution.runnable import RefusedError, build
from gridstride.judge.expected import check_parameters
from gridstride.judge.header import parse_kernel
from gridstride.judge.problem import Problem

TYPES = "#include <cuda_bf16.h>\n#include <cuda_fp8.h>"


def refusal(problem: Problem, parameters: str) -> str:
    source = f"// block: 32\n// grid: 1\n{TYPES}\n__global__ void k({parameters}) {{}}"
    with pytest.raises(RefusedError) as refused:
        build(problem, parse_kernel(source), gs.VirtualGPU())
    return refused.value.finding.message


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("const float* x, float* y", "parameter 3, int n, is missing"),
        ("const float* x, float* y, int n, int m", "parameter 4, int m, is one too many"),
        ("int n, const float* x, float* y", "parameter 1 is int n, but x is an array, const float* x"),
        ("const float* x, float* y, int* n", "parameter 3 is int* n, but n is a number, int n"),
        ("const double* x, float* y, int n", "parameter 1 is const double* x, but x is const float* x"),
        ("const __nv_bfloat16* x, float* y, int n", "parameter 1 is const __nv_bfloat16* x, but x is const float* x"),
        ("const __nv_fp8_e4m3* x, float* y, int n", "parameter 1 is const __nv_fp8_e4m3* x, but x is const float* x"),
    ],
)
def test_the_parameter_is_named_with_what_it_should_be(doubling: Problem, parameters: str, said: str) -> None:
    message = refusal(doubling, parameters)
    assert said in message
    assert message.endswith("The problem gives __global__ void k(const float* x, float* y, int n)")


@pytest.mark.parametrize("parameters", ["const float* x, float* y, int n", "float* x, float* y, unsigned n",
                                        "const float* a, float* b, long long size"])  # fmt: skip
def test_names_signs_and_widths_of_numbers_are_the_kernels_own(doubling: Problem, parameters: str) -> None:
    source = f"// block: 32\n// grid: 1\n__global__ void k({parameters}) {{}}"
    runnable = build(doubling, parse_kernel(source), gs.VirtualGPU())
    assert runnable.shape({"n": 5}).block == (32, 1, 1)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("float* y, int n, const float* x", "parameters 1, 2, 3 seem to stand in another order: y, n, x"),
        ("const float* a, int b, float* c", "parameters 2 and 3 seem swapped: b and c"),
    ],
)
def test_an_order_in_which_all_would_fit_is_said(doubling: Problem, parameters: str, said: str) -> None:
    assert f": {said}. The problem gives" in refusal(doubling, parameters)


@pytest.mark.parametrize(
    ("parameters", "note"),
    [
        ("float* y, const float* x, int n", "parameters 1 and 2 seem swapped: y and x. The problem gives __global__"),
        ("float* output, const float* input, int size", "parameters 1 and 2 seem swapped: output and input"),
        ("const float* x, float* y, int n", ""),
        ("const float* p, float* q, int count", ""),
    ],
)
def test_names_that_stand_in_another_order_are_doubted(doubling: Problem, parameters: str, note: str) -> None:
    source = f"// block: 32\n// grid: 1\n__global__ void k({parameters}) {{}}"
    notes = build(doubling, parse_kernel(source), gs.VirtualGPU()).facts.notes
    assert " ".join(notes).startswith(note)
    assert bool(notes) == bool(note)


def test_an_output_that_the_kernel_declares_const_is_doubted(doubling: Problem) -> None:
    with gs.use("virtual"):
        kernel = gs.cuda("__global__ void k(float* r, const float* u, int n) { r[n] = u[n]; }")["k"]
        note = check_parameters(doubling.signature, "k", kernel.bound().parameters)
    assert "parameter 2, const float* u, is const where the problem passes its output y" in note
