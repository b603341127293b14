"""A second opinion on the device's clock: that of the host, and the device's own at the end of all its work.

Events time what the judge put between them on its own stream. The host sees when that began, when the last event had
come and when the whole device was idle. Work that is still going on after the last event, or a timer that shows more or
less time than went by, leaves a gap between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.device.choice import use
from gridstride.device.creation import empty
from gridstride.device.modules.module import cuda
from gridstride.protocol import Device

_SHARE, _SLACK_MS = 0.1, 0.1  # by how much the clocks may differ: waking up after a wait takes the host some 0.02 ms

_SPIN = """extern "C" __global__ void gridstride_clock(unsigned long long* seen)
{
    unsigned long long begun, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    const long long from = clock64();
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - begun < 100000);
    seen[0] = clock64() - from;
    seen[1] = now - begun;
}"""


@dataclass(frozen=True, slots=True)
class Lap:
    """One batch in milliseconds: `device_ms` between events around all of it; on the host's clock `host_ms` from
    before its first launch, and `after_ms` from when all was launched, until the device was idle.
    """

    device_ms: float
    host_ms: float
    after_ms: float


def disagreement(laps: Sequence[Lap]) -> str:
    """How the clocks contradict each other in most of the batches; empty where they do not.

    Of the differences one that three in four exceed counts: a host that was busy with other things is late, but not
    always by as much, and where it was late in launching it saw less of the work that it waits for.
    """
    if not laps:
        return ""
    unseen = sorted(laps, key=lambda lap: lap.after_ms - lap.device_ms)[len(laps) // 4]
    if unseen.after_ms - unseen.device_ms > _allowed(unseen):
        return (
            f"the device was busy for {unseen.after_ms:.4g} ms after the last launch on the host's clock, and its "
            f"events show {unseen.device_ms:.4g} ms for all of it: work went on outside the stream that was timed, or "
            "the timer is wrong"
        )
    quartile = sorted(laps, key=lambda lap: lap.device_ms - lap.host_ms)[len(laps) // 4]
    if quartile.device_ms - quartile.host_ms > _allowed(quartile):
        return (
            f"events on the device show {quartile.device_ms:.4g} ms where {quartile.host_ms:.4g} ms went by on the "
            "host's "
            "clock: the timer is wrong"
        )
    return ""


def _allowed(lap: Lap) -> float:
    return _SHARE * min(lap.device_ms, lap.host_ms) + _SLACK_MS


def multiprocessor_mhz(device: Device) -> float | None:
    """What the multiprocessors run at just now: their clock counter against the device's nanoseconds, for 0.1 ms."""
    if device.kind != "physical":
        return None
    with use(device):
        readings: Any = empty(2, np.uint64)
        cuda(_SPIN, filename="clock.cu")["gridstride_clock"][1, 1](readings)
        clocks, nanoseconds = (int(clock) for clock in readings.numpy())
    return 1e3 * clocks / nanoseconds
