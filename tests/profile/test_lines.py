"""Which line of the program a moment belongs to."""

from __future__ import annotations

from gridstride.profile import intervals
from gridstride.profile.lines import Lines, LineShare
from gridstride.profile.trace import Sample, Trace, TraceSpan

MS = 1_000_000
LANE = ("1", "1")


def test_without_samples_or_stacks_nothing_is_known() -> None:
    lines = Lines(Trace(0, 100))
    assert not lines.known
    assert lines.busiest(intervals.between(0, 100)) == []


def test_a_sample_stands_for_the_time_since_the_one_before() -> None:
    samples = [Sample(5 * MS, "a.py:1", ()), Sample(10 * MS, "a.py:1", ()), Sample(25 * MS, "b.py:2", ())]
    lines = Lines(Trace(0, 100 * MS, samples=samples))
    assert lines.busiest(intervals.between(0, 100 * MS)) == [LineShare("b.py:2", 0.6), LineShare("a.py:1", 0.4)]
    assert lines.busiest(intervals.between(0, 20 * MS)) == [LineShare("a.py:1", 1.0)]


def test_a_long_silence_counts_for_no_more_than_so_much() -> None:
    lines = Lines(Trace(0, 1000 * MS, samples=[Sample(50 * MS, "a.py:1", ()), Sample(900 * MS, "b.py:2", ())]))
    shares = {line.where: line.share for line in lines.busiest(intervals.between(0, 1000 * MS))}
    assert shares == {"a.py:1": 5 / 55, "b.py:2": 50 / 55}


def test_of_a_trace_with_stacks_the_innermost_function_of_the_program_counts() -> None:
    functions = [
        TraceSpan("train.py(10): main", 0, 100, LANE), TraceSpan("train.py(31): step", 20, 60, LANE),
        TraceSpan("/x/site-packages/torch/nn.py(5): forward", 30, 50, LANE),
    ]  # fmt: skip
    lines = Lines(Trace(0, 100, functions=functions))
    assert lines.busiest(intervals.between(35, 45)) == [LineShare("train.py:31 in step", 1.0)]
    assert lines.around([TraceSpan("x", 70, 80, LANE)]) == [LineShare("train.py:10 in main", 1.0)]
