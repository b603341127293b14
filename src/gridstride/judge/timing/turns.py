"""What takes turns in the timer's loop: the judged kernel, with its data, and its peers."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from gridstride.judge.cases.data import widened
from gridstride.judge.execution.buffers import Buffers, Stock
from gridstride.judge.execution.runnable import Runnable
from gridstride.judge.header import LaunchShape
from gridstride.judge.problem import Invariant
from gridstride.judge.reference.pieces import Answer
from gridstride.judge.reference.tolerance import deviation
from gridstride.judge.timing.clocks import Lap
from gridstride.protocol import Stream

_PIECES = 2  # of each output that are checked after a batch; all of them after the last
_AHEAD_MS = 0.5  # launches ahead of a batch last about this long: the host has lined the batch up by then
_MOST_AHEAD = 20

Call = Callable[[int], object]  # runs on buffer set number i


@dataclass(frozen=True, slots=True)
class TimedSet:
    """One draw of the timed case: data, what must come of it, and device memory to run on."""

    inputs: dict[str, Any]
    answers: dict[str, Answer]
    stock: Stock
    buffers: Buffers


@dataclass(slots=True)
class TimedTurns:
    """One kernel or peer in the loop; `count` goes on from batch to batch, so that the sets keep changing."""

    call: Call
    launches: int
    slow: bool
    count: int
    times: list[float]
    laps: list[Lap] = field(default_factory=list)
    typical_ms: float = 0.0  # of one launch, from warming up

    @property
    def ahead(self) -> int:
        """Launches in front of a batch: the host has lined it up by the time that they have ended."""
        return 0 if self.slow else max(1, min(_MOST_AHEAD, ceil(_AHEAD_MS / max(self.typical_ms, 1e-3))))

    def next_sets(self, launches: int, sets: int) -> list[int]:
        """The sets of the next launches."""
        numbers = [(self.count + number) % sets for number in range(launches)]
        self.count += launches
        return numbers

    def last_sets(self, sets: int) -> list[int]:
        """The sets of the last batch."""
        return [(self.count - 1 - number) % sets for number in range(self.launches)]


class JudgedKernel:
    """The kernel that is judged, loaded anew for each batch, and the data that its sets hold meanwhile."""

    def __init__(
        self,
        runnable: Runnable,
        sets: Sequence[TimedSet],
        shape: LaunchShape,
        stream: Stream,
        invariants: Mapping[str, Invariant],
    ) -> None:
        self._invariants = invariants
        self._first, self._sets, self._shape, self._stream = runnable, sets, shape, stream
        self._kernel = runnable.kernel
        self._holds = list(range(len(sets)))  # set -> whose data is in it
        self._draw = random.Random(secrets.randbits(64))
        self.right = True

    def renew(self) -> None:
        """Nothing is as it was: the module's variables, the data of each set, and what outputs hold."""
        self._kernel = self._first.renewed().kernel
        self._draw.shuffle(self._holds)
        for timed_set, data in zip(self._sets, self._holds, strict=True):
            timed_set.buffers.refill(self._sets[data].stock)

    def launch(self, number: int) -> None:
        """Launch on a set."""
        self._launch(self._sets[number].buffers)

    def warm(self, spare: Buffers) -> None:
        """Launch on memory that no timed launch has."""
        self._launch(spare)

    def _launch(self, buffers: Buffers) -> None:
        self._kernel.launch(
            grid=self._shape.grid,
            block=self._shape.block,
            args=tuple(buffers.arguments),
            shared=self._shape.shared,
            stream=self._stream,
            **self._first.launch.flags,
        )

    def check(self, numbers: Iterable[int], *, complete: bool) -> None:
        """Look at what the launches left in these sets: at some pieces, or at all."""
        for number in set(numbers):
            drawn, buffers = self._sets[self._holds[number]], self._sets[number].buffers
            answers = {name: answer for name, answer in drawn.answers.items() if name not in self._invariants}
            if complete or self._invariants:
                results = buffers.results()
                self.right &= all(answer.holds(results[name]) for name, answer in answers.items())
                wide = {name: widened(value) for name, value in drawn.inputs.items()} if self._invariants else {}
                self.right &= not any(wrong(wide, results).any() for wrong in self._invariants.values())
            else:
                self.right &= all(self._sampled(buffers, name, answer) for name, answer in answers.items())

    def _sampled(self, buffers: Buffers, name: str, answer: Answer) -> bool:
        pieces = self._draw.sample(answer.pieces, min(_PIECES, len(answer.pieces)))
        return not any(deviation(buffers.part(name, piece.index), piece.expected)[0].any() for piece in pieces)
