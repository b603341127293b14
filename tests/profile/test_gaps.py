"""The times when the GPU idles between two kernels."""

from __future__ import annotations

from gridstride.profile.account import account
from gridstride.profile.gaps import Gaps, gaps, idle_after, waits
from gridstride.profile.trace import Trace, TraceSpan

MS = 1_000_000
HOST, STREAM = ("1", "1"), ("0", "stream 7")


def trace(*kernels: tuple[int, int], calls: tuple[tuple[str, int, int], ...] = ()) -> Trace:
    spans = [TraceSpan("gemm", start * MS, end * MS, STREAM) for start, end in kernels]
    host = [TraceSpan(name, start * MS, end * MS, HOST) for name, start, end in calls]
    return Trace(0, 100 * MS, kernels=spans, calls=host)


def found(recording: Trace) -> Gaps | None:
    return gaps(recording, account(recording, recording.start, recording.end))


def test_without_a_gpu_or_without_a_gap_there_are_none() -> None:
    assert found(Trace(0, 100)) is None
    assert found(trace((0, 100))) is None


def test_gaps_are_sorted_into_classes_and_are_the_host_s() -> None:
    idle = found(trace((0, 10), (12, 50), (54, 100)))
    assert idle is not None
    assert idle.times.tolist() == [[10 * MS, 12 * MS], [50 * MS, 54 * MS]]
    assert idle.median == 3 * MS
    assert idle.classes == (("1 ms to 10 ms", 2, 6 * MS),)
    assert sum(idle.host.values()) == 6 * MS


def test_how_long_the_gpu_had_nothing_to_do_behind_a_wait() -> None:
    recording = trace((0, 10), (20, 100), calls=(("cudaStreamSynchronize", 2, 11), ("cudaLaunchKernel", 15, 16)))
    (wait,) = waits(recording)
    idle = found(recording)
    assert idle is not None
    assert idle_after(wait, idle.times) == 9 * MS
    assert idle_after(TraceSpan("cudaStreamSynchronize", 0, 5 * MS, HOST), idle.times) == 0
