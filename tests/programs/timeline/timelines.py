"""A timeline with three streams, and how tests give it work."""

from __future__ import annotations

from gridstride.programs.timeline.durations import Work
from gridstride.programs.timeline.model import TO_DEVICE, Timeline
from gridstride.programs.timeline.schedule import Operation
from gridstride.programs.timeline.summary import work_of
from gridstride.virtual.chips import chip

MB = 1 << 20


ONE, TWO, THREE = 100, 200, 300  # streams, as addresses of the runtime's


FULL = Work(50.0, {"blocks": 1.0})


HALF = Work(50.0, {"blocks": 0.5})


def with_streams(name: str, *, blocking: bool = True) -> Timeline:
    timeline = Timeline(chip(name))
    for each in (ONE, TWO, THREE):
        timeline.add_stream(each, blocking=blocking, priority=0)
    return timeline


def to_device(timeline: Timeline, stream: int, nbytes: int = MB, *, pageable: bool = False) -> None:
    timeline.copy(nbytes, TO_DEVICE, stream, pageable=pageable, waits=False)


def done(timeline: Timeline) -> list[Operation]:
    """In the order in which they were given."""
    timeline.finish()
    return sorted(work_of(timeline), key=lambda each: each.number)
