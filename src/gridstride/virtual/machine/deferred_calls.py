"""Calls that finalizers make: now or, while the device is in use, once it no longer is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gridstride.protocol import DeviceError


class DeferredCalls:
    """Calls that wait for a device's lock.

    The garbage collector runs finalizers on any thread at any place, even on a thread that the device's holder waits
    for: they must not wait for the lock, nor go on while their own thread holds it.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._calls: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, end: Callable[..., object], *args: object) -> None:
        """Calls `end` now, or later where the lock is held."""
        self._calls.append((end, args))
        self.run()

    def run(self) -> None:
        """Makes the calls that wait, unless the lock is held."""
        if not self._calls or self._lock._is_owned() or not self._lock.acquire(blocking=False):
            return
        try:
            while self._calls:
                end, args = self._calls.popleft()
                with suppress(DeviceError):  # nobody is left to be told
                    end(*args)
        finally:
            self._lock.release()
