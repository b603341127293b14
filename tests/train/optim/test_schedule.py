"""Learning rates: warm-up, stable, decay; a run by time sets its end once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.train.config import run_config
from gridstride.train.optim.schedule import SchedulePlan, factor, plan_by_time, planned

WSD = replace(run_config.load().schedule, warmup=10, decay_share=0.4, floor=0.1)
COSINE = replace(WSD, shape="cosine")


def test_wsd_rises_stays_and_falls_to_the_floor() -> None:
    plan = planned(WSD, 100)
    assert plan == SchedulePlan(60, 100)
    assert factor(WSD, 0, plan) == pytest.approx(0.1)
    assert [factor(WSD, step, plan) for step in (9, 30, 60)] == [1.0, 1.0, 1.0]
    assert factor(WSD, 80, plan) == pytest.approx(0.55)
    assert factor(WSD, 100, plan) == pytest.approx(0.1)


def test_cosine_is_half_way_at_half_time() -> None:
    plan = planned(COSINE, 110)
    assert factor(COSINE, 60, plan) == pytest.approx(0.55)
    assert factor(COSINE, 110, plan) == pytest.approx(0.1)


@given(steps=st.integers(1, 500), shape=st.sampled_from([WSD, COSINE]))
def test_the_rate_is_never_above_its_peak_nor_zero_before_the_end(
    steps: int, shape: run_config.ScheduleSection
) -> None:
    plan = planned(shape, steps)
    assert all(0 < factor(shape, step, plan) <= 1 for step in range(steps))


def test_by_time_the_decay_begins_when_its_share_is_left() -> None:
    ask = {"step": 300, "budget": 100.0, "speed": 5.0}
    assert plan_by_time(WSD, seconds=59.0, **ask) is None
    assert plan_by_time(WSD, seconds=60.0, **ask) == SchedulePlan(300, 500)


def test_without_time_left_one_step_remains() -> None:
    assert plan_by_time(WSD, step=3, seconds=500.0, budget=100.0, speed=0.01) == SchedulePlan(3, 4)


def test_without_a_plan_the_rate_stays() -> None:
    assert factor(WSD, 10_000, None) == 1.0
