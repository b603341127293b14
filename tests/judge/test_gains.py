"""What a rung gained, in words: the ratios are right, and nothing is said where nothing moved."""

from __future__ import annotations

import pytest

from gridstride.judge.find import find
from gridstride.judge.gains import WorkUnit, changes, closing, gain, gains, per_request, per_unit, unit_of
from gridstride.judge.verdict import Finding, RungResult


def rung(name: str = "01", *, time_ms: float | None = None, fails: bool = False, **counters: float) -> RungResult:
    findings = (Finding("race", "two at once"),) if fails else ()
    return RungResult(rung=name, title="", findings=findings, time_ms=time_ms, counters=counters)


def test_fewer_sectors_are_said_as_a_factor() -> None:
    assert gain(rung(global_sectors=660), rung(global_sectors=100)) == "6.6× fewer global sectors"


def test_what_there_is_more_of_is_the_price() -> None:
    before = rung(global_sectors=1000, instructions=100)
    after = rung(global_sectors=100, instructions=150, shared_wavefronts=40)
    assert gain(before, after) == "10× fewer global sectors; the price: 40 shared wavefronts, 1.5× more instructions"


def test_a_counter_that_fell_to_nothing_is_said_so() -> None:
    assert gain(rung(bank_conflicts=63_500), rung(bank_conflicts=0)) == "no bank conflicts left (of 63.5 k)"


def test_little_changes_are_not_worth_a_word() -> None:
    assert gain(rung(instructions=1000), rung(instructions=980)) == ""


def test_requests_that_fell_as_much_as_their_sectors_are_the_same_news() -> None:
    before, after = (
        {"global_sectors": 400.0, "global_requests": 100.0},
        {"global_sectors": 200.0, "global_requests": 50.0},
    )
    assert [change.counter for change in changes(before, after)] == ["global_sectors"]


def test_requests_that_fell_alone_are_news() -> None:
    before, after = (
        {"global_sectors": 400.0, "global_requests": 100.0},
        {"global_sectors": 400.0, "global_requests": 25.0},
    )
    assert [str(change) for change in changes(before, after)] == ["4× fewer global requests"]


def test_counters_that_appear_from_nothing_can_be_compared() -> None:
    moved = changes({}, {"global_sectors": 1.0, "global_requests": 1.0})
    assert {change.ratio for change in moved} == {0.0}


def test_measured_times_come_first_and_are_not_called_predicted() -> None:
    assert gain(rung(time_ms=4.0), rung(time_ms=1.0)) == "4× faster"
    assert gain(rung(time_ms=1.0), rung(time_ms=4.0)) == "the price: 4× slower"


def test_a_rung_that_is_slower_says_so_as_its_price() -> None:
    said = gain(rung(time_ms=1.0, global_sectors=400), rung(time_ms=2.0, global_sectors=100))
    assert said == "4× fewer global sectors; the price: 2× slower"


def test_a_rung_is_compared_with_the_last_one_that_passed() -> None:
    results = [rung("01", global_sectors=400), rung("02", fails=True), rung("03", global_sectors=100)]
    assert gains(results) == {"03": "4× fewer global sectors"}


def test_the_closing_line_names_what_failed_and_what_slipped_through() -> None:
    said = closing([rung("01"), rung("02", fails=True)], where="the virtual GPU", rejected=1, missed=["race"], wrong=2)
    assert said == "1 of 2 rungs pass on the virtual GPU; 02 failed. race did not get the finding asked for."


def test_matmul_is_counted_in_multiply_adds_and_the_rest_in_elements() -> None:
    assert unit_of(find("matmul").problem) == WorkUnit("multiply-add", 256**3)
    assert unit_of(find("saxpy").problem) == WorkUnit("element", 1 << 16)
    assert unit_of(find("reduction").problem) == WorkUnit("element", 1 << 16)


def test_instructions_of_a_warp_count_for_each_of_its_lanes() -> None:
    assert per_unit({"instructions": 10.0}, WorkUnit("element", 64)) == pytest.approx(5.0)


def test_sectors_per_request_are_unknown_without_requests() -> None:
    assert per_request({"global_sectors": 32.0, "global_requests": 8.0}) == 4.0
    assert per_request({"global_sectors": 0.0, "global_requests": 0.0}) is None
