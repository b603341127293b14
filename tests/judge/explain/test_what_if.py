"""What-if counts: mending a line never adds to what it does, and takes away exactly what it wastes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gridstride.judge.explain import what_if
from gridstride.judge.explain.lines import as_counters
from gridstride.virtual.chips import chip
from gridstride.virtual.observe.line_counters import LineCounters
from gridstride.virtual.observe.predict import GridShape, predict

SHAPE, H200 = GridShape(blocks=1056, warps=8, resident=8), chip("h200")


@st.composite
def loads(draw: st.DrawFn) -> LineCounters:
    """A line of loads, of as many sectors as lanes can reach, at least those that the bytes need."""
    requests = draw(st.integers(1, 10**6))
    sectors, ideal = draw(st.integers(4, 32)) * requests, 4 * requests
    missed = draw(st.integers(0, sectors))
    return LineCounters(
        "k.cu", 1, instructions=requests, active_lanes=32 * requests, global_requests=requests, global_sectors=sectors,
        global_lines=draw(st.integers(requests, sectors)), global_ideal_sectors=ideal, global_load_requests=requests,
        global_load_sectors=sectors, l1_missed_sectors=missed, l2_sectors=missed, l2_lines=missed // 4,
        kinds={"memory": requests},
    )  # fmt: skip


@given(loads())
def test_coalesced_takes_as_many_sectors_as_the_bytes_need(line: LineCounters) -> None:
    total = as_counters(line)
    after = what_if.coalesced(total, line)
    assert abs(after.global_sectors - line.global_ideal_sectors) <= 1
    assert after.l2_sectors <= total.l2_sectors
    assert after.global_lines <= total.global_lines


@given(loads())
def test_coalescing_never_makes_the_predicted_time_longer(line: LineCounters) -> None:
    total = as_counters(line)
    assert predict(what_if.coalesced(total, line), SHAPE, H200).ms <= predict(total, SHAPE, H200).ms * 1.0001


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_without_conflicts_only_the_needed_passes_are_left(needed: int, conflicts: int) -> None:
    line = LineCounters("k.cu", 1, shared_wavefronts=needed + conflicts, bank_conflicts=conflicts)
    after = what_if.without_conflicts(as_counters(line), conflicts)
    assert (after.shared_wavefronts, after.bank_conflicts) == (needed, 0)


@given(st.integers(1, 10**6), st.integers(1, 32))
def test_full_lanes_do_the_same_work_in_fewer_instructions(instructions: int, lanes: int) -> None:
    line = LineCounters("k.cu", 1, instructions=instructions, active_lanes=lanes * instructions,
                        kinds={"fp32": instructions})  # fmt: skip
    after = what_if.full_lanes(as_counters(line), line)
    assert abs(after.instructions - line.active_lanes / 32) <= 1
    assert abs(after.kinds["fp32"] - line.active_lanes / 32) <= 1


def test_the_counts_of_the_run_itself_stay_as_they_are() -> None:
    line = LineCounters("k.cu", 1, instructions=100, active_lanes=100, kinds={"fp64": 10, "fp32": 1})
    total = as_counters(line)
    before = replace(total, kinds=dict(total.kinds))
    what_if.full_lanes(total, line)
    what_if.in_single(total, line)
    what_if.wide(total, line)
    assert total == before
