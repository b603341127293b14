"""Times kernels and their peers on a physical GPU, so that a figure can be believed.

Work is timed with events on the judge's own stream. Inputs and outputs are rotated among sets that together exceed the
L2 cache several times, so every launch finds it cold, and a kernel cannot live on what the launch before left there.
A kernel and its peers take turns in one loop, so that clocks and heat are the same for all. What the timed launches
left behind is checked to the last element.
"""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from gridstride.device.choice import use
from gridstride.judge.buffers import Buffers
from gridstride.judge.data import generate
from gridstride.judge.pieces import Answer, answers
from gridstride.judge.problem import Case, Peer, Problem, Values
from gridstride.judge.runnable import Runnable
from gridstride.protocol import Device, Stream

_L2_TIMES = 3  # sets of buffers together hold at least this many L2 caches
_FEWEST_SETS = 2
_WARM_UPS = 2
_FEWEST, _MOST = 5, 50  # timed rounds
_BUDGET_MS = 400.0  # device time for one kernel's rounds
_LAUNCHES_MS = 1.0  # a timed batch lasts at least this long, so that the gaps between launches do not count
_MOST_LAUNCHES = 100
_SLOW_MS = 100.0  # a launch that takes longer is timed alone and fewer times: next to it, gaps and jitter are nothing
_FEWEST_SLOW = 3

Call = Callable[[int], object]  # runs on buffer set number i
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per launch: median and half the distance between the quartiles; peers by name."""

    median_ms: float
    spread_ms: float
    rounds: int
    peers: Mapping[str, float]
    right: bool  # whether every timed output was right


@dataclass(frozen=True, slots=True)
class _Set:
    """One draw of the timed case: data, what must come of it, and device memory to run on."""

    inputs: dict[str, Any]
    answers: dict[str, Answer]
    buffers: Buffers


@dataclass(slots=True)
class _Turns:
    """One kernel or peer in the loop; `count` goes on from batch to batch, so that the sets keep changing."""

    call: Call
    launches: int
    slow: bool
    count: int
    times: list[float]


class Timer:
    """Buffers of the timed case and the peers, set up once for all rungs of a problem."""

    def __init__(self, problem: Problem, device: Device, *, seed: int, progress: Progress = lambda _: None) -> None:
        self._problem, self._device, self._progress = problem, device, progress
        self._sizes = problem.timed
        self._stream: Stream = device.stream()
        _, moved = problem.work(problem.timed)
        count = max(_FEWEST_SETS, ceil(_L2_TIMES * device.properties.l2_bytes / max(moved, 1)))
        progress(f"drawing {count} sets of data to time, and working out what must come of them")
        self._sets = tuple(self._drawn(seed + number) for number in range(count))
        self._results = {
            p.name: np.empty(problem.shape(p, self._sizes), np.dtype(p.dtype)) for p in problem.outputs
        }  # memory for one set's results, touched once
        self._peers = {name: call for name, peer in problem.peers.items() if (call := self._peer(peer))}

    def time(self, runnable: Runnable) -> Timing:
        """Time one kernel against the peers, and check what it computed while it was timed."""
        self._fill()
        shape = runnable.shape(self._sizes)

        def launch(number: int) -> None:
            runnable.kernel.launch(
                grid=shape.grid,
                block=shape.block,
                args=tuple(self._sets[number].buffers.arguments),
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

    def _drawn(self, seed: int) -> _Set:
        case = Case(self._sizes, "normal", seed, hidden=True)
        inputs = generate(self._problem, case)
        buffers = Buffers(self._device, self._problem, self._sizes, inputs)
        return _Set(inputs, answers(self._problem, case, inputs), buffers)

    def _fill(self) -> None:
        for one in self._sets:
            one.buffers.fill(0)

    def _all_right(self, launch: Call) -> bool:
        """Check every set. Arrays that are read and written have gone through many launches: they are run once more."""
        if any(parameter.role == "inout" for parameter in self._problem.parameters):
            self._fill()
            for number in range(len(self._sets)):
                launch(number)
        self._stream.synchronize()
        self._progress("checking what the timed launches left")
        return all(self._right(one) for one in self._sets)

    def _right(self, one: _Set) -> bool:
        one.buffers.results_into(self._results)
        return all(answer.holds(self._results[name]) for name, answer in one.answers.items())

    def _rounds(self, calls: Mapping[str, Call]) -> dict[str, list[float]]:
        turns = {name: self._turns(call) for name, call in calls.items()}
        own = turns[""]
        rounds = self._planned(own.launches * own.times.pop(), slow=own.slow)
        each = f"{own.launches} launches" if own.launches > 1 else "one launch"
        self._progress(f"timing, {rounds} rounds of {each}")
        for one in turns.values():
            one.times.clear()
        for _ in range(rounds):
            for one in turns.values():
                one.times.append(self._batch(one, one.launches) / one.launches)
        return {name: one.times for name, one in turns.items()}

    def _turns(self, call: Call) -> _Turns:
        """Warm up, and find out how many launches one batch needs; `times` is left with the time of one."""
        turns = _Turns(call, 1, False, 0, [])
        for _ in range(_WARM_UPS):
            turns.times.append(self._batch(turns, 1))
            turns.slow = turns.times[-1] > _SLOW_MS
            if turns.slow:
                break
        enough = ceil(_LAUNCHES_MS / max(turns.times[-1], 1e-3))
        turns.launches = 1 if turns.slow else max(len(self._sets), min(_MOST_LAUNCHES, enough))
        return turns

    def _planned(self, batch_ms: float, *, slow: bool) -> int:
        """How many rounds: what fits a kernel's share of device time, but enough for a median and for every set."""
        fewest = max(_FEWEST_SLOW, len(self._sets)) if slow else _FEWEST
        return min(_MOST, max(fewest, ceil(_BUDGET_MS / max(batch_ms, 1e-3))))

    def _batch(self, turns: _Turns, launches: int) -> float:
        start, end = self._device.event(), self._device.event()
        start.record(self._stream)
        for _ in range(launches):
            turns.call(turns.count % len(self._sets))
            turns.count += 1
        end.record(self._stream)
        return end.elapsed_ms(start)

    def _peer(self, peer: Peer) -> Call | None:
        """The peer on its own copies of the data, on the judge's stream; None where its library is missing."""
        try:
            library = importlib.import_module(peer.library)
        except ImportError:
            return None
        arrays = [_library_values(library, one.inputs, self._problem) for one in self._sets]
        stream = library.cuda.ExternalStream(self._stream.handle)

        def call(number: int) -> None:
            with library.cuda.stream(stream):
                peer.call(arrays[number])

        return call


def _library_values(library: Any, inputs: Values, problem: Problem) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for parameter in problem.parameters:
        if parameter.role == "scalar":
            values[parameter.name] = inputs[parameter.name]
        elif parameter.role == "out":
            shape = problem.shape(parameter, problem.timed)
            values[parameter.name] = library.empty(shape, dtype=getattr(library, parameter.dtype), device="cuda")
        else:
            values[parameter.name] = library.from_numpy(inputs[parameter.name]).cuda()
    return values
