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


HISTOGRAM = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ int counts[4];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 64; ++k) atomicAdd(&counts[(i + k) % 4], k);
    __syncthreads();
    if (i < n) c[i] = a[i] + b[i] + (counts[0] == -1);
}
"""
BARRIERS = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    float other = 0;
    for (int k = 0; k < 50; ++k) {
        __syncthreads();
        other += s[(threadIdx.x + 32 * k) % 256];
    }
    if (i < n) c[i] = s[threadIdx.x] + b[i] + (other == 1e30f);
}
"""
DIVIDES = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = i;
    for (int j = 1; j < 40; ++j)
        k = k + n / (j + (k & 7)) + k % (n + j);
    c[i] = a[i] + b[i] + (k == -7);
}
"""
ONE_LANE = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int first = blockIdx.x * blockDim.x + threadIdx.x / 32 * 32;
    if (threadIdx.x % 32) return;
    for (int i = first; i < first + 32 && i < n; ++i) c[i] = a[i] + b[i];
}
"""
MASKED = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float zero = 0;
    if (threadIdx.x % 32 < 16) zero = __shfl_down_sync(0xffffffff, a[i], 1);
    c[i] = a[i] + b[i] + (zero == 5e30f);
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


def advised(explanation: Explanation) -> dict[str, Any]:
    return {each.name: each for each in profile(explanation).advice}


def test_atomics_that_meet_in_shared_memory_are_not_told_to_pad_a_tile() -> None:
    found = own(HISTOGRAM)
    assert "bank conflicts" not in advised(found)
    advice = advised(found)["shared atomics"]
    assert advice.line == line_of(found, "atomicAdd")
    assert "take turns" in advice.cause
    assert "each warp a copy" in advice.remedy


def test_barriers_that_hold_a_kernel_up_get_advice() -> None:
    found = own(BARRIERS)
    advice = advised(found)["barriers"]
    assert advice.line == line_of(found, "__syncthreads")
    assert "50 barriers" in advice.cause
    assert advice.gain > 1.03


def test_divisions_get_advice_with_their_line() -> None:
    found = own(DIVIDES)
    advice = advised(found)["division"]
    assert advice.line == line_of(found, "k % (n + j)")
    assert "up to 20 instructions" in advice.cause
    assert advice.gain > 1.5


def test_an_access_of_one_lane_is_not_told_that_it_moves_0_bytes() -> None:
    assert "wide accesses" not in advised(own(ONE_LANE))


def test_an_atomic_for_each_block_is_not_told_to_add_up_in_the_block() -> None:
    advice = advised(rung("reduction", 2))["atomics"]
    assert "fewer blocks" in advice.remedy
    assert advice.rung == "04_vectorised"


def test_sectors_that_nobody_uses_are_no_reuse() -> None:
    assert "reuse" not in advised(rung("rms_norm", 1))
    assert advised(rung("matmul", 1))["reuse"].rung == "03_shared_tile"


def test_a_run_that_went_on_after_a_finding_is_not_called_stopped() -> None:
    found = own(MASKED)
    assert found.result.findings[0].kind == "member_mask"
    assert profile(found).complete
    assert found.json()["profile"]["predicted_ms"] is not None


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
