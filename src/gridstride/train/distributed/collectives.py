"""What ranks do together: an action on each, or on the first alone, whose failure is known to all of them.

In one process without a process group the same calls simply act, so that nobody has to ask which of both it is.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from gridstride.train.errors import TrainError, TrainFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RankFailure:
    """What went wrong on a rank, in words that can be sent to the others."""

    rank: int
    kind: str
    message: str
    refused: bool = False  # a TrainError: what was asked for cannot be


class RanksFailed(Exception):
    """At least one rank failed; every rank raises the same."""

    def __init__(self, failures: list[RankFailure]) -> None:
        super().__init__(failures)
        self.failures = failures

    def __str__(self) -> str:
        first = self.failures[0]
        return first.message + (f" (rank {first.rank})" if world() > 1 else "")


def rank() -> int:
    """This process's place among the ranks; 0 where there is one alone."""
    return dist.get_rank() if dist.is_initialized() else 0


def world() -> int:
    """How many ranks there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def everywhere(act: Callable[[], T]) -> list[T]:
    """Run `act` on every rank and give all results, by rank; raises Failed on all ranks where one of them failed."""
    outcomes = _gathered(_attempt(act))
    failures = [outcome for outcome in outcomes if isinstance(outcome, RankFailure)]
    if failures:
        raise RanksFailed(failures)
    return outcomes


def on_first(act: Callable[[], T]) -> T:
    """Run `act` on rank 0 only and give its result on every rank; raises Failed on all ranks where it failed."""
    outcome = [_attempt(act) if rank() == 0 else None]
    if world() > 1:
        dist.broadcast_object_list(outcome, src=0)
    if isinstance(outcome[0], RankFailure):
        raise RanksFailed([outcome[0]])
    return outcome[0]  # type: ignore[return-value]


def decided(act: Callable[[], T]) -> T:
    """Run `act` on rank 0 only; its result or its error is everyone's. Alone it is just `act()`."""
    if world() == 1:
        return act()
    try:
        return on_first(act)
    except RanksFailed as failed:
        first = failed.failures[0]
        if first.kind == TrainFailed.__name__:
            raise TrainFailed(first.message) from failed
        if first.refused:
            raise TrainError(first.message) from failed
        raise RuntimeError(f"{first.kind}: {first.message}") from failed


def highest(number: int) -> int:
    """The largest number that any rank has, known to all."""
    if world() == 1:
        return number
    numbers = torch.tensor(number)
    dist.all_reduce(numbers, dist.ReduceOp.MAX)
    return int(numbers)


def failure(at: int, error: BaseException) -> RankFailure:
    """A rank's error as it is told to the others."""
    message = words(error) if isinstance(error, OSError) else str(error) or type(error).__name__
    return RankFailure(at, type(error).__name__, message, isinstance(error, TrainError))


def words(error: OSError) -> str:
    """What the operating system refused, and where."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({reason})"
    return f"{reason}: {error.filename}" if error.filename else reason


def _attempt(act: Callable[[], T]) -> T | RankFailure:
    try:
        return act()
    except Exception as error:
        return failure(rank(), error)


def _gathered(mine: Any) -> list[Any]:
    if world() == 1:
        return [mine]
    outcomes: list[Any] = [None] * world()
    dist.all_gather_object(outcomes, mine)
    return outcomes
