"""Mutants: every kind of mistake is made where it can be, once for each place, and nowhere else."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.find import find
from gridstride.judge.proof.mutants import Mutant, compilable, mutants

SOURCE = """// a < b in a comment, threadIdx.x
#define WIDE(a) (a < 3)
template <int N> __global__ void f(const float* x, float* y, int n)
{
    __shared__ float tile[32][N + 1];
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i >= n) return;
    tile[0][threadIdx.x] = x[i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; ++k) {
        sum += max(tile[0][k], 0.0f);
    }
    if (i < n && sum > 0) y[i] = sum;
}
"""


def made(kind: str) -> list[Mutant]:
    return [mutant for mutant in mutants(SOURCE) if mutant.kind == kind]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("dropped barrier", ["__syncthreads(); -> ;"]),
        ("comparison", [">= -> >", "< -> <=", "< -> <=", "> -> >="]),
        ("dropped return", ["if (i >= n) return; -> ;"]),
        ("dropped accumulation", ["+= -> ="]),
        ("wrong connective", ["&& -> ||"]),
        ("minimum and maximum", ["max -> min"]),
        ("wrong axis", ["blockIdx.x -> blockIdx.y", *["threadIdx.x -> threadIdx.y"] * 2]),
        ("half precision", ["max(tile[0][k], 0.0f) -> gridstride_half(max(tile[0][k], 0.0f))"]),
        ("wrong stride", ["1 -> 2", "32 -> 33", "32 -> 31", "0 -> 1", "0 -> 1"]),
    ],
)
def test_a_mistake_is_made_at_every_place(kind: str, changes: list[str]) -> None:
    assert [f"{m.before} -> {m.after}" for m in made(kind)] == changes


def test_subscripts_are_one_off_but_not_the_sizes_of_arrays() -> None:
    off = {(m.line, m.after) for m in made("index off by one")}
    assert {line for line, _ in off} == {8, 12, 14}
    assert {"[threadIdx.x + 1]", "[threadIdx.x - 1]", "[i + 1]", "[k - 1]", "[0 + 1]"} <= {after for _, after in off}


def test_only_one_place_changes_and_comments_stay() -> None:
    for mutant in mutants(SOURCE):
        assert mutant.source != SOURCE
        assert mutant.source.splitlines()[:2] == SOURCE.splitlines()[:2]
        assert len(mutant.source.splitlines()) == len(SOURCE.splitlines())


def test_a_mutant_of_half_precision_compiles_and_keeps_its_lines() -> None:
    (mutant,) = made("half precision")
    ptx = compile_cuda(compilable(mutant), names=["f<2>"], arch="sm_90a").ptx
    assert "cvt.rn.f16.f32" in ptx


def test_a_grid_stride_that_goes_wrong_is_rejected() -> None:
    """`i = stride` for `i += stride`: only a grid smaller than the input shows it."""
    from dataclasses import replace

    import gridstride as gs
    from gridstride.judge.execution.runnable import build
    from gridstride.judge.reference.prepared_cases import prepare
    from gridstride.judge.verify import verify

    folder = find("saxpy")
    file = folder.rungs()[1]
    (mutant,) = (m for m in mutants(file.source) if m.kind == "dropped accumulation" and "stride" in file.source)
    runnable = build(folder.problem, replace(file, source=mutant.source), gs.VirtualGPU(time_limit=0.5))
    verdict = verify(folder.problem, runnable, prepare(folder.problem, public_cases(folder.problem)))
    assert {finding.kind for finding in verdict.findings} & {"timeout", "race", "wrong_result"}
    assert verdict.failed is not None
    assert verdict.failed.multiprocessors == 1
