"""Advice names the line, the cause and the rung that mends it, and only where it applies."""

from __future__ import annotations

from typing import Any

import pytest
from explained_kernels import (
    BARRIERS,
    DIVERGENT,
    DIVIDES,
    DOUBLES,
    HISTOGRAM,
    ONE_LANE,
    STRIDED,
    line_of,
    own,
    profile,
    rung,
)  # fmt: skip

from gridstride.judge.explain import KernelExplanation


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


def advised(explanation: KernelExplanation) -> dict[str, Any]:
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
