"""Threads of PyTorch's operators on a CPU: how they wait for each other, and how many there may be.

Without PyTorch: how threads wait is read from the environment when OpenMP's library is loaded, and never again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # each says how long an idle thread spins


def let_waiting_threads_sleep(environment: MutableMapping[str, str] = os.environ) -> None:
    """Call before PyTorch is imported. What the user has said of waiting stays.

    By default an idle thread spins until the others are done. Where another process wants the core as well, the thread
    that is waited for is not the one that runs: an operator of 20 µs then takes milliseconds. A thread that sleeps
    costs some microseconds to wake, which the number of threads that is measured to be fastest takes into account.
    """
    if not any(name in environment for name in _WAITING):
        environment["OMP_WAIT_POLICY"] = "passive"


def fixed(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the user, or who starts several processes, has said how many threads there are."""
    return "OMP_NUM_THREADS" in environment


def counts(most: int) -> tuple[int, ...]:
    """Numbers of threads worth trying where there can be `most`, in rising order: 1, then doubled, and `most`."""
    doubled = [1]
    while doubled[-1] * 2 < most:
        doubled.append(doubled[-1] * 2)
    return tuple(sorted({*doubled, most}))
