"""Times kernels and their peers on a physical GPU, so that a figure can be believed.

Work is timed with events on the judge's own stream. Inputs and outputs are rotated among sets that together exceed the
L2 cache several times, so every launch finds it cold, and a kernel cannot live on what the launch before left there.
A kernel and its peers take turns in one loop, so that clocks and heat are the same for all.

A kernel could remember: that it was launched before, with which pointers, and what came of it. So before each of its
batches its module is loaded anew, the sets change their data with each other, and outputs are poisoned; within a batch
no set comes twice. Some pieces of what each batch left, drawn at random, are checked, and all of it after the last one.

Rounds end when the interval that the median lies in is narrow, or the kernel's share of device time is used up. The
host's clock is held against the events of every batch, as is when the whole device comes to rest.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import Any

from gridstride.device.choice import use
from gridstride.judge.cases.data import generate
from gridstride.judge.execution.buffers import Buffers, Stock
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.problem import Case, Peer, Problem, Values
from gridstride.judge.reference.pieces import Answer, answers
from gridstride.judge.timing.clocks import Lap, disagreement, multiprocessor_mhz
from gridstride.judge.timing.interval import interval, narrow
from gridstride.judge.timing.turns import Call, JudgedKernel, TimedSet, TimedTurns
from gridstride.protocol import Device, Event, Stream

_L2_TIMES = 3  # sets of buffers together hold at least this many L2 caches
_FEWEST_SETS = 2
_WARM_UPS = 2
_FEWEST, _MOST = 8, 50  # timed rounds; between the two a narrow interval ends them
_BUDGET_MS = 400.0  # device time for one kernel's rounds
_LAUNCHES_MS = 1.0  # a timed batch lasts at least this long, so that the gaps between launches do not count
_MOST_LAUNCHES = 100  # of a peer, which is trusted with launches on the same set
_SLOW_MS = 100.0  # a launch that takes longer is timed alone and fewer times: next to it, gaps and jitter are nothing
_FEWEST_SLOW = 3

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per launch, with a cold L2: median, the interval that it lies in with 95 % probability, half the
    distance between the quartiles; peers by name.

    `right`: whether every timed output was right. `clocks`: how the device's clock and the host's contradict each
    other, empty where they do not. `warm_ms`: the median over launches that follow each other on the same memory.
    `multiprocessor_mhz`: the clock just before the rounds and after them.
    """

    median_ms: float
    spread_ms: float
    rounds: int
    peers: Mapping[str, float]
    right: bool
    interval_ms: tuple[float, float]
    clocks: str
    warm_ms: float | None
    multiprocessor_mhz: tuple[float, float] | None


class Timer:
    """Buffers of the timed case and the peers, set up once for all rungs of a problem."""

    def __init__(
        self,
        problem: Problem,
        device: Device,
        *,
        seed: int,
        progress: Progress = lambda _: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._problem, self._device, self._progress, self._clock = problem, device, progress, clock
        self._sizes = problem.timed
        self._stream: Stream = device.stream()
        _, moved = problem.work(problem.timed)
        count = max(_FEWEST_SETS, ceil(_L2_TIMES * device.properties.l2_bytes / max(moved, 1)))
        progress(f"drawing {count} sets of data to time, and working out what must come of them")
        self._sets = self._drawn([seed + number for number in range(count)])
        self._spare = Buffers(device, problem, self._sizes, self._sets[0].inputs)
        self._spare.fill(0)
        self._peers = {name: call for name, peer in problem.peers.items() if (call := self._peer(peer))}

    def time(self, runnable: Runnable) -> Timing:
        """Time one kernel against the peers, and check what it computed while it was timed."""
        for timed_set in self._sets:
            timed_set.buffers.fill(0)
        own = JudgedKernel(runnable, self._sets, runnable.shape(self._sizes), self._stream, self._problem.invariants)
        with use(self._device):
            turns = self._warmed_up(own)
            start_mhz = multiprocessor_mhz(self._device)
            self._rounds(own, turns)
            end_mhz = multiprocessor_mhz(self._device)
            warm = self._warm(own, turns[""]) if own.right else None
        own_turns = turns.pop("")
        times = own_turns.times
        quartiles = statistics.quantiles(times if len(times) > 1 else times * 2, n=4)  # one: it was wrong at once
        peers = {name: statistics.median(peer_turns.times) for name, peer_turns in turns.items()}
        mhz = (start_mhz, end_mhz) if start_mhz is not None and end_mhz is not None else None
        return Timing(statistics.median(times), (quartiles[2] - quartiles[0]) / 2, len(times), peers, own.right,
                      interval(times), disagreement(own_turns.laps), warm, mhz)  # fmt: skip

    def _drawn(self, seeds: Sequence[int]) -> tuple[TimedSet, ...]:
        """A set for each seed. What must come of one may take seconds, and small ones are many: processors share them.
        Of large ones there are two, and memory for one at a time.
        """

        def answered(seed: int) -> tuple[dict[str, Any], dict[str, Answer]]:
            case = Case(self._sizes, "normal", seed, hidden=True)
            inputs = generate(self._problem, case)
            return inputs, answers(self._problem, case, inputs)

        sets = []
        with ThreadPoolExecutor(min(os.cpu_count() or 1, max(1, len(seeds) // 2))) as threads:
            for inputs, right in threads.map(answered, seeds):
                buffers = Buffers(self._device, self._problem, self._sizes, inputs)
                stock = Stock(self._device, self._problem, self._sizes, inputs)
                sets.append(TimedSet(inputs, right, stock, buffers))
        return tuple(sets)

    def _warmed_up(self, own: JudgedKernel) -> dict[str, TimedTurns]:
        """The peers by name and, under no name, the kernel; each has been launched."""
        turns = {name: self._turns(call, None) for name, call in self._peers.items()}
        return {**turns, "": self._turns(own.launch, own)}

    def _rounds(self, own: JudgedKernel, turns: Mapping[str, TimedTurns]) -> None:
        own_turns = turns[""]
        fewest, most = self._planned(own_turns.launches * own_turns.times.pop(), slow=own_turns.slow)
        unit = f"{own_turns.launches} launches" if own_turns.launches > 1 else "one launch"
        round_count = f"{fewest} to {most}" if fewest < most else most
        self._progress(f"timing, {round_count} rounds of {unit}")
        for timed_turns in turns.values():
            timed_turns.times.clear()
        last = False
        while own.right and not last:
            for timed_turns in turns.values():
                took = (
                    self._own_batch(timed_turns, own)
                    if timed_turns is own_turns
                    else self._batch(timed_turns, timed_turns.ahead)
                )
                timed_turns.times.append(took / timed_turns.launches)
            done = len(own_turns.times)
            last = done >= most or (done >= fewest and all(narrow(timed_turns.times) for timed_turns in turns.values()))
        if own.right:
            self._progress("checking what the timed launches left")
            own.check(own_turns.last_sets(len(self._sets)), complete=True)

    def _turns(self, call: Call, own: JudgedKernel | None) -> TimedTurns:
        """Warm up, and find out how many launches one batch needs; `times` is left with the time of one."""
        turns = TimedTurns(call, 1, False, 0, [])
        for _ in range(_WARM_UPS):
            turns.times.append(self._batch(turns))
            turns.slow, turns.typical_ms = turns.times[-1] > _SLOW_MS, turns.times[-1]
            if turns.slow:
                break
        enough = ceil(_LAUNCHES_MS / max(turns.times[-1], 1e-3))
        most = len(self._sets) if own is not None else max(len(self._sets), min(_MOST_LAUNCHES, enough))
        turns.launches = 1 if turns.slow else most
        return turns

    def _own_batch(self, turns: TimedTurns, own: JudgedKernel) -> float:
        """A batch of the judged kernel, of which nothing is left from the one before.

        Some launches more go before it, on data of their own: code that was just loaded is in no cache yet, and while
        they run the others line up behind them.
        """
        own.renew()
        numbers = turns.next_sets(turns.launches, len(self._sets))
        self._device.synchronize()
        first = self._device.event()
        begun = self._clock()
        first.record(self._stream)
        for _ in range(turns.ahead):
            own.warm(self._spare)
        start, end = self._recorded(own.launch, numbers)
        launched = self._clock()
        elapsed = end.elapsed_ms(start)
        self._device.synchronize()  # not this stream alone: whatever else may be under way
        idle = self._clock()
        turns.laps.append(Lap(end.elapsed_ms(first), 1e3 * (idle - begun), 1e3 * (idle - launched)))
        own.check(numbers, complete=turns.slow)
        return elapsed

    def _warm(self, own: JudgedKernel, turns: TimedTurns) -> float | None:
        """Launches on one set after the other: what they need that fits L2 is there. What comes of them is not looked
        at, so this figure is only shown.
        """
        if turns.slow:
            return None
        own.renew()
        own.launch(0)
        launches = max(1, min(_MOST_LAUNCHES, ceil(_LAUNCHES_MS / max(turns.times[-1], 1e-3))))
        return statistics.median(self._timed(own.launch, [0] * launches) / launches for _ in range(_FEWEST))

    def _batch(self, turns: TimedTurns, skipped: int = 0) -> float:
        """A batch, behind some launches that are not timed.

        A peer has as many as the judged kernel: an idle GPU would wait for the host, which takes longer over a
        library's call than the GPU over a small one.
        """
        for number in turns.next_sets(skipped, len(self._sets)):
            turns.call(number)
        return self._timed(turns.call, turns.next_sets(turns.launches, len(self._sets)))

    def _timed(self, call: Call, numbers: Sequence[int]) -> float:
        start, end = self._recorded(call, numbers)
        return end.elapsed_ms(start)

    def _recorded(self, call: Call, numbers: Sequence[int]) -> tuple[Event, Event]:
        """Events around launches on these sets."""
        start, end = self._device.event(), self._device.event()
        start.record(self._stream)
        for number in numbers:
            call(number)
        end.record(self._stream)
        return start, end

    def _planned(self, batch_ms: float, *, slow: bool) -> tuple[int, int]:
        """How many rounds at least and at most: what fits a kernel's share of device time, but enough for a median,
        and for every set where they are slow.
        """
        fewest = max(_FEWEST_SLOW, len(self._sets)) if slow else _FEWEST
        most = min(_MOST, max(fewest, ceil(_BUDGET_MS / max(batch_ms, 1e-3))))
        return min(fewest, most), most

    def _peer(self, peer: Peer) -> Call | None:
        """The peer on its own copies of the data, on the judge's stream; None where its library is missing."""
        try:
            library = importlib.import_module(peer.library)
        except ImportError:
            return None
        arrays = [_library_values(library, timed_set.inputs, self._problem) for timed_set in self._sets]
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
        elif not parameter.given:
            shape = problem.shape(parameter, problem.timed)
            values[parameter.name] = library.empty(shape, dtype=getattr(library, parameter.dtype), device="cuda")
        else:
            values[parameter.name] = library.from_numpy(inputs[parameter.name]).cuda()
    return values
