"""Times kernels and their peers on a physical GPU, so that a figure can be believed.

Work is timed with events on the judge's own stream. Inputs and outputs are rotated among sets that together exceed the
L2 cache several times, so every launch finds it cold, and a kernel cannot live on what the launch before left there.
A kernel and its peers take turns in one loop, so that clocks and heat are the same for all.
"""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from gridstride.device.choice import use
from gridstride.device.protocol import Device, Stream
from gridstride.judge.buffers import Buffers
from gridstride.judge.problem import Case, Peer, Problem
from gridstride.judge.runnable import Runnable
from gridstride.judge.tolerance import compare
from gridstride.judge.verify import Prepared, prepare

_L2_TIMES = 3  # sets of buffers together hold at least this many L2 caches
_FEWEST_SETS = 2
_WARM_UPS = 2
_FEWEST, _MOST = 5, 50  # timed rounds
_BUDGET_MS = 400.0  # device time for one kernel's rounds
_LAUNCHES_MS = 1.0  # a timed batch lasts at least this long, so that the gaps between launches do not count
_MOST_LAUNCHES = 100

Call = Callable[[int], object]  # runs on buffer set number i


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per launch: median and half the distance between the quartiles; peers by name."""

    median_ms: float
    spread_ms: float
    rounds: int
    peers: Mapping[str, float]
    right: bool  # whether every timed output was right


class Timer:
    """Buffers of the timed case and the peers, set up once for all rungs of a problem."""

    def __init__(self, problem: Problem, device: Device, *, seed: int) -> None:
        self._problem, self._device = problem, device
        self._sizes = problem.timed
        self._stream: Stream = device.stream()
        _, moved = problem.work(problem.timed)
        count = max(_FEWEST_SETS, ceil(_L2_TIMES * device.properties.l2_bytes / max(moved, 1)))
        cases = [Case(problem.timed, "normal", seed + number, hidden=True) for number in range(count)]
        self._sets: tuple[Prepared, ...] = prepare(problem, cases)
        self._buffers = [Buffers(device, problem, problem.timed, one.inputs) for one in self._sets]
        self._peers = {name: call for name, peer in problem.peers.items() if (call := self._peer(peer))}

    def time(self, runnable: Runnable) -> Timing:
        """Time one kernel against the peers, and check what it computed while it was timed."""
        self._fill()
        shape = runnable.shape(self._sizes)

        def launch(number: int) -> None:
            runnable.kernel.launch(
                grid=shape.grid,
                block=shape.block,
                args=tuple(self._buffers[number].arguments),
                shared=shape.shared,
                stream=self._stream,
            )

        with use(self._device):
            times = self._rounds({"": launch, **self._peers})
            own = times.pop("")
            right = self._all_right(launch)
        quartiles = statistics.quantiles(own, n=4)
        peers = {name: statistics.median(values) for name, values in times.items()}
        return Timing(statistics.median(own), (quartiles[2] - quartiles[0]) / 2, len(own), peers, right)

    def _fill(self) -> None:
        for buffers in self._buffers:
            buffers.fill(0)

    def _all_right(self, launch: Call) -> bool:
        """Check every set. Arrays that are read and written have gone through many launches: they are run once more."""
        if any(parameter.role == "inout" for parameter in self._problem.parameters):
            self._fill()
            for number in range(len(self._sets)):
                launch(number)
        self._stream.synchronize()
        return all(
            compare(got, one.expected[name]).passed
            for one, buffers in zip(self._sets, self._buffers, strict=True)
            for name, got in buffers.results().items()
        )

    def _rounds(self, calls: Mapping[str, Call]) -> dict[str, list[float]]:
        launches = {name: self._launches(call) for name, call in calls.items()}
        times: dict[str, list[float]] = {name: [] for name in calls}
        spent = 0.0
        while len(times[""]) < _FEWEST or (spent < _BUDGET_MS and len(times[""]) < _MOST):
            for name, call in calls.items():
                times[name].append(self._batch(call, launches[name]) / launches[name])
            spent += times[""][-1] * launches[""]
        return times

    def _launches(self, call: Call) -> int:
        """How many launches one batch needs, after warming up."""
        for _ in range(_WARM_UPS):
            once = self._batch(call, 1)
        return max(len(self._sets), min(_MOST_LAUNCHES, ceil(_LAUNCHES_MS / max(once, 1e-3))))

    def _batch(self, call: Call, launches: int) -> float:
        start, end = self._device.event(), self._device.event()
        start.record(self._stream)
        for number in range(launches):
            call(number % len(self._sets))
        end.record(self._stream)
        return end.elapsed_ms(start)

    def _peer(self, peer: Peer) -> Call | None:
        """The peer on its own copies of the data, on the judge's stream; None where its library is missing."""
        try:
            library = importlib.import_module(peer.library)
        except ImportError:
            return None
        arrays = [_library_values(library, one, self._problem) for one in self._sets]
        stream = library.cuda.ExternalStream(self._stream.handle)

        def call(number: int) -> None:
            with library.cuda.stream(stream):
                peer.call(arrays[number])

        return call


def _library_values(library: Any, one: Prepared, problem: Problem) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for parameter in problem.parameters:
        if parameter.role == "scalar":
            values[parameter.name] = one.inputs[parameter.name]
        elif parameter.role == "out":
            shape = problem.shape(parameter, one.case.sizes)
            values[parameter.name] = library.empty(shape, dtype=getattr(library, parameter.dtype), device="cuda")
        else:
            values[parameter.name] = library.from_numpy(one.inputs[parameter.name]).cuda()
    return values
