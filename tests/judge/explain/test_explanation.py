"""An explanation names the limiter, and how the time splits over lines; of a wrong kernel it says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from explained_kernels import MASKED, STRIDED, line_of, own, profile, rung

from gridstride.judge.explain import KernelExplanation, explain
from gridstride.judge.find import find
from gridstride.virtual.gpu import VirtualGPU


def test_a_good_kernel_is_told_how_much_of_its_limit_it_reaches() -> None:
    found = profile(rung("vector_add", 3))
    assert found.resources[0].name == "DRAM"
    assert found.resources[0].share > 0.75
    assert found.nearest.name == "03_vectorised"


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


def wrong(name: str, problem: str = "vector_add") -> KernelExplanation:
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
