"""Who watches the launches of a framework: counters of each, and the time that the chip would take for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridstride.virtual.observe.run import ObservedRun

_runs: ContextVar[list[ObservedRun] | None] = ContextVar("gridstride_runs", default=None)
_open: list[
    list[ObservedRun]
] = []  # of all threads; the last one is a library's, whose threads know nothing of who watches


@contextmanager
def observed() -> Iterator[list[ObservedRun]]:
    """Count what each launch does until the end of the `with`: the list holds a Run for every one, in order.

    Of this thread or task. A launch that a fault stops raises KernelFault; other findings are in its Run.
    """
    runs: list[ObservedRun] = []
    with _watching(runs):
        _open.append(runs)
        try:
            yield runs
        finally:
            _open[:] = [entry for entry in _open if entry is not runs]


@contextmanager
def latest_watches() -> Iterator[None]:
    """Until the end of the `with` launches of this thread count for whoever watches last, if nobody in it does: for the
    threads of a library, which were there before.
    """
    with _watching(_runs.get() if _runs.get() is not None else next(reversed(_open), None)):
        yield


@contextmanager
def _watching(runs: list[ObservedRun] | None) -> Iterator[None]:
    token = _runs.set(runs)
    try:
        yield
    finally:
        _runs.reset(token)


def watching() -> list[ObservedRun] | None:
    """Where a launch is to leave its Run; None where nobody counts."""
    return _runs.get()


def predicted_ms(call: Callable[[], object]) -> float:
    """Milliseconds that the chip would take for the kernels that `call` launches, by the model of predict.py.

    nan where it launches none: what the host computes has no such time.
    """
    with observed() as runs:
        call()
    outer = watching()
    if outer is not None:
        outer += runs
    return sum(run.predicted.ms for run in runs) if runs else float("nan")


def benchmark(
    call: Callable[[], object], *_: Any, quantiles: Sequence[float] | None = None, return_mode: str = "mean", **__: Any
) -> list[float] | float:
    """The place of triton.testing.do_bench: predicted milliseconds of one call, for each of `quantiles`.

    A prediction has no spread, so all are equal, and nothing is repeated. What launches no kernel takes inf, since nan
    could not be ranked.
    """
    ms = predicted_ms(call)
    ms = float("inf") if math.isnan(ms) else ms
    if quantiles:
        return [ms] * len(quantiles)
    return [ms] if return_mode == "all" else ms
