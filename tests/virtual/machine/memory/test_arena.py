"""Global memory: allocations that never overlap, gaps between them, and all of it found again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.machine.memory.arena import ALIGN, GAP, PAGE, Arena
from gridstride.virtual.machine.memory.owners import FREED

SIZE = 256 * PAGE


def test_allocations_are_aligned_and_apart() -> None:
    arena = Arena(SIZE)
    first, second = arena.allocate(1000), arena.allocate(1)
    assert first is not None
    assert second is not None
    assert first % ALIGN == second % ALIGN == 0
    assert second - (first + 1000) >= GAP


def test_a_freed_range_is_used_again() -> None:
    arena = Arena(SIZE)
    first = arena.allocate(SIZE // 2)
    assert first is not None
    assert arena.allocate(SIZE // 2) is None
    assert arena.free(first)
    assert arena.allocate(SIZE // 2) == first


def test_freeing_what_is_not_allocated_is_refused() -> None:
    arena = Arena(SIZE)
    start = arena.allocate(64)
    assert start is not None
    assert not arena.free(start + 1)
    assert arena.free(start)
    assert not arena.free(start)


def test_the_nearest_allocation_tells_how_far_outside_an_address_is() -> None:
    arena = Arena(SIZE)
    start = arena.allocate(100)
    assert start is not None
    inside, before, after = (arena.nearest(start + d) for d in (50, -8, 103))
    assert inside is not None
    assert before is not None
    assert after is not None
    assert (inside.distance, before.distance, after.distance) == (0, -8, 4)


def test_an_empty_arena_has_no_nearest_allocation() -> None:
    assert Arena(SIZE).nearest(4096) is None


def test_what_the_garbage_collector_frees_meanwhile_does_not_hide_an_allocation() -> None:
    arena = Arena(1 << 20)
    *variables, own = [arena.allocate(256) for _ in range(5)]

    class Collected(list[int]):
        """The collector runs when a slice is made."""

        def __getitem__(self, key: Any) -> Any:
            while isinstance(key, slice) and variables:
                arena.free(variables.pop())
            return super().__getitem__(key)

    arena._starts = Collected(arena._starts)
    assert arena.holds(own, 256)
    assert arena.live() == [(own, 256)]


def test_the_table_is_sorted_and_starts_with_nothing() -> None:
    arena = Arena(SIZE)
    for size in (10, 20, 30):
        arena.allocate(size)
    table = arena.table()
    assert list(table["size"]) == [0, 10, 20, 30]
    assert list(table["start"]) == sorted(table["start"])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5 * PAGE)), max_size=60))
def test_allocations_never_overlap_and_are_counted(steps: list[tuple[bool, int]]) -> None:
    arena = Arena(SIZE)
    live: dict[int, int] = {}
    for take, number in steps:
        if take or not live:
            start = arena.allocate(number)
            if start is not None:
                live[start] = number
        else:
            start = sorted(live)[number % len(live)]
            assert arena.free(start)
            del live[start]
    ranges = sorted(live.items())
    assert all(a + size < b for (a, size), (b, _) in pairwise(ranges))
    assert arena.used == sum(live.values())
    assert all(arena.holds(start, size) for start, size in ranges if size)


def test_views_share_the_memory() -> None:
    arena = Arena(SIZE)
    start = arena.allocate(16)
    assert start is not None
    arena.view(start, 16)[:] = 7
    assert bytes(arena.view(start + 8, 8)) == b"\x07" * 8


def test_memory_that_is_hidden_as_freed_is_told_as_freed() -> None:
    arena = Arena(1 << 20)
    start, other = arena.allocate(100), arena.allocate(100)
    assert start is not None
    assert other is not None
    arena.hide({start: FREED, other: 1})
    assert arena.freed_at(start + 99) == (start, 100)
    assert arena.freed_at(other) is None
    arena.hide({})
    assert arena.freed_at(start) is None
