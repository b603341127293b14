"""What becomes of a kernel's time: a record, or a fault with its reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gridstride.judge import rung_figures
from gridstride.judge.find import find
from gridstride.judge.timing.timer import Timing
from gridstride.judge.verdict import RungResult
from gridstride.protocol import DeviceLost
from gridstride.virtual.chips import chip

HONEST = Timing(median_ms=1.0, spread_ms=0.0, rounds=8, peers={"torch": 2.0}, right=True, interval_ms=(0.9, 1.1),
                clocks="", warm_ms=0.8, multiprocessor_mhz=(1900.0, 1980.0))  # fmt: skip


def timed(outcome: Timing | Exception) -> RungResult:
    """The verdict on vector_add where timing gives this, or raises it."""

    def time(_: object) -> Timing:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    timer: Any = SimpleNamespace(time=time)
    runnable: Any = None
    result, gpu = RungResult(rung="k", title=""), chip("h200").properties
    return rung_figures.timed(result, find("vector_add").problem, runnable, timer=timer, gpu=gpu)


def changed(**what: Any) -> Timing:
    return Timing(**{name: what.get(name, getattr(HONEST, name)) for name in Timing.__slots__})


def test_an_honest_time_is_kept_with_what_stands_behind_it() -> None:
    result = timed(HONEST)
    assert result.findings == ()
    assert (result.time_ms, result.interval_ms, result.warm_ms, result.rounds) == (1.0, (0.9, 1.1), 0.8, 8)
    assert result.multiprocessor_mhz == (1900.0, 1980.0)
    assert result.peers == {"torch": 2.0}


def test_wrong_results_while_it_was_timed_are_a_fault() -> None:
    assert [finding.kind for finding in timed(changed(right=False)).findings] == ["wrong_result"]


def test_a_time_below_the_chip_s_limit_is_a_fault_and_no_record() -> None:
    (finding,) = timed(changed(median_ms=1e-3)).findings
    assert finding.kind == "too_fast"
    assert "0.001 ms is less than the" in finding.message


def test_clocks_that_disagree_are_a_fault() -> None:
    (finding,) = timed(changed(clocks="the timer is wrong")).findings
    assert finding.kind == "clocks_disagree"


def test_a_kernel_that_ends_the_context_at_the_timed_size_is_a_fault_and_no_traceback() -> None:
    (finding,) = timed(DeviceLost("a kernel read or wrote an address that is not allocated")).findings
    assert finding.kind == "fault"
    assert "at the timed size: a kernel read or wrote" in finding.message
