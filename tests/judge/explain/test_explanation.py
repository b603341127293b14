"""An explanation names the limiter, the line, the cause and the rung that mends it; of a wrong kernel it says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from gridstride.judge.explain import Explanation, explain
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.virtual.gpu import VirtualGPU

STRIDED = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int rows = n / 32, at = i < rows * 32 ? i % 32 * rows + i / 32 : i;
    if (i < n) c[at] = a[at] + b[at];
}
"""
DIVERGENT = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = a[i] + b[i];
    if (threadIdx.x % 2) {
        float t = s;
        for (int k = 0; k < 1000; ++k) t = sinf(t);
        if (t == 5.0f) s = t;
    }
    c[i] = s;
}
"""
DOUBLES = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s = a[i];
#pragma unroll
    for (int k = 0; k < 96; ++k) s = s * 1.0000001 + 0.5;
    c[i] = s == 5.0 ? 0.0f : a[i] + b[i];
}
"""


@cache
def rung(problem: str, number: int) -> Explanation:
    folder = find(problem)
    return explain(folder.rungs()[number - 1], folder, device=VirtualGPU("h200"), seed=1)


def own(source: str, problem: str = "vector_add") -> Explanation:
    kernel = parse_kernel(source, filename="mine.cu")
    return explain(kernel, find(problem), device=VirtualGPU("h200"), seed=1, ladder=False)


def profile(explanation: Explanation) -> Any:
    assert explanation.profile is not None
    return explanation.profile


def line_of(explanation: Explanation, text: str) -> int:
    return next(n for n, line in enumerate(explanation.file.source.splitlines(), 1) if text in line)


def test_a_strided_write_is_advised_to_coalesce_as_the_second_rung_does() -> None:
    found = rung("transpose", 1)
    first = profile(found).advice[0]
    assert (first.name, first.line) == ("coalesce", line_of(found, "out[(size_t)column"))
    assert first.rung == "02_shared_tile"
    assert first.gain > 3
    assert "writes 32.0 sectors" in first.cause


def test_bank_conflicts_are_named_with_their_line_and_the_rung_that_pads() -> None:
    found = rung("transpose", 2)
    assert profile(found).limiter == "shared memory"
    first = profile(found).advice[0]
    assert (first.name, first.rung) == ("bank conflicts", "03_padded_tile")
    assert first.line == line_of(found, "= tile[threadIdx.x]")


def test_the_predicted_gain_is_near_the_rung_that_does_it() -> None:
    before, after = profile(rung("transpose", 2)), profile(rung("transpose", 3))
    assert before.advice[0].gain == pytest.approx(before.predicted.ms / after.predicted.ms, rel=0.2)


def test_a_good_kernel_is_told_how_much_of_its_limit_it_reaches() -> None:
    found = profile(rung("vector_add", 3))
    assert found.resources[0].name == "DRAM"
    assert found.resources[0].share > 0.75
    assert found.nearest.name == "03_vectorised"


def test_atomics_to_one_address_are_advised_to_add_up_first() -> None:
    first = profile(rung("reduction", 1)).advice[0]
    assert first.name == "atomics"
    assert first.rung == "02_shared_tree"


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [(STRIDED, "coalesce", "c[at]"), (DIVERGENT, "divergence", "% 2"), (DOUBLES, "double precision", "1.0000001")],
)
def test_a_users_kernel_gets_the_rule_with_its_line(source: str, name: str, text: str) -> None:
    found = own(source)
    assert found.result.verdict == "pass"
    advice = next(each for each in profile(found).advice if each.name == name)
    assert line_of(found, text) in (advice.line, *advice.also)
    assert advice.gain > 1.03


@pytest.mark.parametrize(("problem", "number"), [("transpose", 2), ("vector_add", 3), ("reduction", 1)])
def test_shares_of_the_time_are_of_one_whole(problem: str, number: int) -> None:
    shares = [line.share for line in profile(rung(problem, number)).lines]
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) == pytest.approx(1.0, abs=0.02)


def test_the_line_that_conflicts_takes_most_of_the_time() -> None:
    found = rung("transpose", 2)
    heaviest = max(profile(found).lines, key=lambda line: line.share)
    assert heaviest.number == line_of(found, "= tile[threadIdx.x]")
    assert heaviest.part == "shared memory"


def test_rooflines_give_the_same_operations_over_the_bytes_of_each_memory() -> None:
    lines = profile(rung("vector_add", 3)).rooflines
    assert lines.flops == pytest.approx(find("vector_add").problem.timed["n"], rel=0.01)
    dram = next(level for level in lines.levels if level.name == "DRAM")
    assert dram.intensity == pytest.approx(1 / 12, rel=0.01)
    assert lines.flops_per_s < dram.roof


def wrong(name: str, problem: str = "vector_add") -> Explanation:
    folder = find(problem)
    file = next(each for each in folder.wrong() if each.name == name)
    return explain(file, folder, device=VirtualGPU("h200"), seed=1, ladder=False)


def test_a_wrong_kernel_says_so_first_and_is_counted_all_the_same() -> None:
    found = wrong("copied", "transpose")
    assert found.result.verdict == "fail"
    assert found.result.findings[0].kind == "wrong_result"
    assert profile(found).complete
    assert profile(found).run.counters.global_requests > 0


def test_no_time_follows_from_a_run_that_was_stopped() -> None:
    found = wrong("misaligned")
    assert not profile(found).complete
    assert found.json()["profile"]["predicted_ms"] is None
    assert found.json()["profile"]["lines"]
    assert found.result.predicted_ms is None


def test_a_kernel_that_does_not_compile_has_a_verdict_and_no_profile() -> None:
    found = own(STRIDED.replace("n / 32,", "n / 32"))
    assert found.profile is None
    assert found.result.findings[0].kind == "compile_error"


JSON: list[tuple[str, Callable[[Any], bool]]] = [
    ("speed_of_light", lambda each: each[0]["share"] > 0),
    ("lines", lambda each: {"line", "share", "sectors_per_request", "bank_conflicts", "lane_share"} <= each[0].keys()),
    ("advice", lambda each: {"line", "cause", "remedy", "predicted_gain", "rung"} <= each[0].keys()),
    ("roofline", lambda each: bool(each["levels"])),
    ("occupancy", lambda each: each["limiter"] != ""),
    ("ladder", lambda each: len(each) == 4),
    ("source", lambda each: each == "counted on the virtual GPU"),
]


@pytest.mark.parametrize(("name", "holds"), JSON)
def test_json_has_everything_that_the_text_says(name: str, holds: Callable[[Any], bool]) -> None:
    written = json.loads(json.dumps(rung("transpose", 2).json(), allow_nan=False))
    assert holds(written["profile"][name])
