"""The rung that does what is advised: the first whose count has fallen as far, and that is faster."""

from __future__ import annotations

from gridstride.judge.explain.advice import Advice
from gridstride.judge.explain.rungs import RungCounts, nearest, with_rungs

MINE = {"global_sectors": 1000.0, "global_requests": 100.0, "instructions": 500.0}


def rung(name: str, ms: float, **counters: float) -> RungCounts:
    return RungCounts(name, f"does {name}", {**MINE, **counters}, ms, "DRAM")


def advice(counter: str, target: float, same: str = "") -> Advice:
    return Advice("a", 3, "cause", "remedy", 2.0, counter, target, same=same)


def chosen(one: Advice, *rungs: RungCounts) -> str | None:
    return with_rungs([one], MINE, 1.0, rungs)[0].rung


def test_the_first_rung_that_comes_as_far_is_named() -> None:
    first, second = rung("02", 0.8, global_sectors=130), rung("03", 0.5, global_sectors=120)
    assert chosen(advice("global_sectors", 0.125), rung("01", 0.9), first, second) == "02"


def test_a_rung_that_is_slower_is_not_named() -> None:
    assert chosen(advice("global_sectors", 0.125), rung("02", 1.2, global_sectors=125)) is None


def test_a_rung_that_only_goes_half_the_way_is_not_named() -> None:
    assert chosen(advice("global_sectors", 0.125), rung("02", 0.5, global_sectors=600)) is None


def test_what_should_stay_must_have_stayed() -> None:
    wide = advice("global_requests", 0.25, same="global_sectors")
    tiled = rung("02", 0.5, global_requests=25, global_sectors=200)
    assert chosen(wide, tiled) is None
    assert chosen(wide, tiled, rung("03", 0.5, global_requests=25)) == "03"


def test_a_rung_below_the_one_that_the_kernel_is_like_is_not_named() -> None:
    below = rung("01", 0.5, global_sectors=100, instructions=9000)
    like, above = rung("02", 1.0), rung("03", 0.6, global_sectors=120)
    assert chosen(advice("global_sectors", 0.125), below, like, above) == "03"


def test_advice_without_a_count_names_no_rung() -> None:
    assert chosen(advice("", 1.0), rung("02", 0.5)) is None


def test_the_nearest_rung_has_the_most_alike_counts() -> None:
    near, far = rung("02", 1.0, instructions=510), rung("01", 1.0, instructions=5000)
    assert nearest(MINE, [far, near]) is near
    assert nearest(MINE, []) is None
