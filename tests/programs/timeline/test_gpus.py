"""The timeline of several GPUs, driven as the runtime drives it: needs no compiler."""

from __future__ import annotations

import pytest

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import LEGACY, TO_DEVICE, Timeline
from gridstride.programs.timeline.order import Touch
from gridstride.programs.timeline.picture import lines
from gridstride.programs.timeline.schedule import Operation
from gridstride.programs.timeline.summary import report, totals, work_of
from gridstride.virtual.chips import chip, names

MB = 1 << 20
FULL = Work(50.0, {"blocks": 1.0})
DEFAULT = [LEGACY, LEGACY + 2, LEGACY + 4]  # of GPUs 0, 1 and 2


@pytest.fixture
def timeline() -> Timeline:
    return of("h100")


def of(name: str) -> Timeline:
    """Three GPUs, with one stream each: 100, 101 and 102."""
    timeline = Timeline(chip(name), 3)
    for gpu in range(3):
        timeline.add_stream(100 + gpu, blocking=False, priority=0, device=gpu)
    return timeline


def to_peer(timeline: Timeline, stream: int, origin: int, to: int, nbytes: int = MB, *, direct: bool = True) -> None:
    timeline.copy_to_peer(nbytes, stream, origin=origin, to=to, direct=direct)


def done(timeline: Timeline) -> list[Operation]:
    """In the order in which they were given."""
    timeline.finish()
    return sorted(work_of(timeline), key=lambda each: each.number)


def overlaps(one: Operation, other: Operation) -> bool:
    return one.start_us < other.end_us and other.start_us < one.end_us


def test_each_gpu_has_a_compute_engine_and_a_link_to_the_host(timeline: Timeline) -> None:
    for gpu in range(2):
        timeline.launch("fill", FULL, 100 + gpu, device=gpu)
    for gpu in range(2):
        timeline.copy(10 * MB, TO_DEVICE, DEFAULT[gpu], pageable=False, waits=False, device=gpu)
    first, second, one, other = done(timeline)
    assert overlaps(first, second)
    assert overlaps(one, other)
    assert totals(timeline).compute_us < 100


def test_a_default_stream_waits_for_its_own_gpu_only(timeline: Timeline) -> None:
    timeline.launch("long", FULL, DEFAULT[0], device=0)
    timeline.launch("own", FULL, DEFAULT[0], device=0)
    timeline.launch("other", FULL, DEFAULT[1], device=1)
    long, own, other = done(timeline)
    assert own.start_us >= long.end_us
    assert other.start_us < long.end_us


def test_a_thread_stream_belongs_to_its_gpu(timeline: Timeline) -> None:
    for gpu in range(3):
        timeline.launch("step", FULL, DEFAULT[gpu] + 1, device=gpu)  # cudaStreamPerThread of that GPU
    assert [each.device for each in done(timeline)] == [0, 1, 2]
    assert sorted(timeline.devices_of_streams().values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_waiting_for_a_device_is_waiting_for_that_one(timeline: Timeline) -> None:
    timeline.launch("long", Work(5000.0, {"blocks": 1.0}), 101, device=1)
    timeline.wait_for_all(0)
    assert timeline.now_us < 100
    timeline.wait_for_all(1)
    assert timeline.now_us > 5000


@pytest.mark.parametrize("name", names())
def test_a_copy_to_a_peer_takes_its_bytes_over_the_link_or_through_the_host(name: str) -> None:
    times = chip(name).timeline
    for direct, rate in ((True, times["peer_gb_per_s"]), (False, times["staged_gb_per_s"])):
        timeline = of(name)
        if rate:
            to_peer(timeline, 100, 0, 1, 10 * MB, direct=direct)
            (copy,) = done(timeline)
            assert copy.us == pytest.approx(times["copy_us"] + 10 * MB / (1e3 * rate))


def test_the_two_ways_between_gpus_are_apart_and_one_way_in_is_shared(timeline: Timeline) -> None:
    to_peer(timeline, 100, 0, 1, 100 * MB)
    to_peer(timeline, 101, 1, 0, 100 * MB)
    to_peer(timeline, 102, 2, 1, 100 * MB)
    there, back, third = done(timeline)
    assert overlaps(there, back)
    assert third.start_us >= there.end_us  # GPU 1 takes in one at a time


def test_copies_through_the_host_take_its_links_and_those_over_nvlink_do_not(timeline: Timeline) -> None:
    for direct in (True, False):
        timeline = of("h100")
        timeline.copy(100 * MB, TO_DEVICE, 101, pageable=False, waits=False, device=1)
        to_peer(timeline, 100, 0, 1, 100 * MB, direct=direct)
        assert overlaps(*done(timeline)) is direct


def test_a_copy_in_a_default_stream_comes_after_and_before_all_of_both_gpus(timeline: Timeline) -> None:
    timeline.launch("before", FULL, DEFAULT[1], device=1)
    to_peer(timeline, DEFAULT[0], 0, 1)
    timeline.launch("after", FULL, DEFAULT[1], device=1)
    before, copy, after = done(timeline)
    assert copy.start_us >= before.end_us
    assert after.start_us >= copy.end_us


def test_a_kernel_that_uses_anothers_memory_takes_as_long_as_its_way_there(timeline: Timeline) -> None:
    rate = chip("h100").timeline["peer_gb_per_s"] * 1e3
    for crossing, us in (
        ({(1, 0): 100 * MB}, 100 * MB / rate),
        ({(1, 0): 100 * MB, (2, 0): 100 * MB}, 200 * MB / rate),  # one way in
        ({(1, 0): 100 * MB, (0, 2): 100 * MB}, 100 * MB / rate),  # in and out beside each other
        ({(1, 0): MB}, FULL.us),
    ):
        timeline = of("h100")
        timeline.launch("gather", FULL, 100, device=0, crossing=crossing)
        (kernel,) = done(timeline)
        assert kernel.us == pytest.approx(us)
        links = report(timeline, counted=1, reused=0)["links"]
        assert {(each["from"], each["to"]): each["bytes"] for each in links} == crossing


def test_gpus_that_nothing_orders_are_told_of() -> None:
    for waits, pairs in ((True, 0), (False, 1)):
        timeline = of("h100")
        timeline.copy_to_peer(64, 100, origin=0, to=1, direct=True, touches=[Touch(4096, 4160, True)])
        timeline.record(7, 100)
        if waits:
            timeline.follow(101, 7)
        timeline.launch("add", FULL, 101, device=1, touches=[Touch(4096, 4160, False)])
        timeline.finish()
        assert totals(timeline).unordered == pairs


def test_a_report_has_rows_for_each_gpu_and_link(timeline: Timeline) -> None:
    to_peer(timeline, 100, 0, 2)
    to_peer(timeline, 100, 0, 2)
    timeline.launch("add", FULL, DEFAULT[2], device=2)
    timeline.finish()
    told = report(timeline, counted=1, reused=0)
    (link,) = told["links"]
    assert (link["from"], link["to"], link["operations"], link["bytes"]) == (0, 2, 2, 2 * MB)
    assert told["to_peer_us"] == pytest.approx(link["busy_us"])
    shown = "\n".join(lines(told))
    for row in ("GPU 0 stream 3 ", "GPU 2 default stream", "GPU 0 to peer", "GPU 2 compute", "GPU 0 to GPU 2"):
        assert row in shown


def test_the_picture_of_one_gpu_does_not_number_it() -> None:
    timeline = Timeline(chip("h100"))
    timeline.launch("add", FULL, LEGACY)
    timeline.finish()
    told = report(timeline, counted=1, reused=0)
    assert "GPU" not in "\n".join(lines(told))
    assert "to peer" not in {each["engine"] for each in told["engines"]}
