"""Values in memory that streams write and wait for: who waits comes behind the first that wrote such a value."""

from __future__ import annotations

from collections import defaultdict

from gridstride.programs.order.stream_clocks import Clock

_GEQ, _EQ, _AND = range(3)  # CU_STREAM_WAIT_VALUE_; the last is NOR


class StreamValues:
    """By address, each value that was written and what its writer knew."""

    def __init__(self) -> None:
        self._written: dict[int, list[tuple[int, Clock]]] = defaultdict(list)

    def written(self, address: int, value: int, clock: Clock) -> None:
        """In the order in which they are given."""
        self._written[address].append((value, clock))

    def waited(self, address: int, value: int, how: int, nbytes: int) -> Clock | None:
        """What the first of those knew that had written what is waited for; None where no stream has."""
        return next((clock for now, clock in self._written[address] if _has_come(now, value, how, nbytes)), None)


def _has_come(now: int, value: int, how: int, nbytes: int) -> bool:
    """As the driver compares; a difference is taken with its sign."""
    bits = 8 * nbytes
    kind = how & 3
    if kind == _GEQ:
        return not (now - value) >> (bits - 1) & 1
    if kind == _EQ:
        return now == value
    if kind == _AND:
        return now & value != 0
    return ~(now | value) & ((1 << bits) - 1) != 0
