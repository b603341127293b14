"""How many threads PyTorch's operators get on a CPU: as many as a piece of the run's own work is fastest with, here
and now, beside whatever else this machine does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

_LEAST = 0.02  # seconds of one trial: several of the scheduler's turns, so that another process's share shows in it
_ROUNDS = 5
_LONG = 0.6  # seconds of measuring after which what is known is enough
_GAIN = 0.9  # of the present number's time that another one must stay below: noise changes nothing


def fastest(
    work: Callable[[], object],
    counts: Sequence[int],
    *,
    now: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
    use: Callable[[int], None] = torch.set_num_threads,
) -> int:
    """The number of threads with which `work` takes least time; `now`, where given, stays unless another is clearly
    faster. Leaves that many in use.

    The median of trials in turn, not the best of them as for a processor's speed: what others take from it is part of
    the answer.
    """
    trials: dict[int, list[float]] = {count: [] for count in counts}
    calls, began = 1, 0.0
    for turn in range(-1, _ROUNDS):  # the first turn loads and compiles, and says how long a call takes
        if turn == 0:
            calls = max(1, round(_LEAST / max(min(trial[0] for trial in trials.values()), 1e-6)))
            trials, began = {count: [] for count in counts}, clock()
        for count in counts if turn % 2 else reversed(counts):
            use(count)
            start = clock()
            for _ in range(calls):
                work()
            trials[count].append(clock() - start)
        if turn > 0 and clock() - began > _LONG:
            break
    medians = {count: statistics.median(seconds) for count, seconds in trials.items()}
    best = min(counts, key=lambda count: medians[count])
    if now in medians and medians[best] > _GAIN * medians[now]:
        best = now
    use(best)
    return best
