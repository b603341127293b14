"""Our libcudart's part of the order of work, for tests without a program."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.programs.order.host_memory import GuardedRange


class FakeHost:
    """Keeps what is guarded."""

    def __init__(self) -> None:
        self.ranges: tuple[GuardedRange, ...] = ()

    def guard(self, ranges: Sequence[GuardedRange]) -> None:
        self.ranges = tuple(ranges)

    def call(self) -> tuple[str, tuple[int, ...]]:
        return "cudaMemcpyAsync", ()
