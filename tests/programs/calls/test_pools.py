"""What memory pools hold, when they grow, and when they give back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gridstride.programs.calls.pools import ALIGNMENT, DEFAULT, GRANULE, Pool, Pools, Range

MIB = 1 << 20


def test_a_pool_grows_once_for_what_is_freed_and_asked_for_again() -> None:
    pools = Pools()
    for step in range(10):
        pools.allocated(DEFAULT, step, MIB)
        pools.freed(step)
    assert (pools.allocations, pools.growths) == (10, 1)
    assert (pools[DEFAULT].used, pools[DEFAULT].reserved) == (0, GRANULE)


def test_a_wait_gives_back_what_is_beyond_the_threshold() -> None:
    pools = Pools()
    for threshold, growths in ((0, 1), (GRANULE, 2), (GRANULE, 2)):
        pools[DEFAULT].threshold = threshold
        pools.allocated(DEFAULT, 1, MIB)
        pools.freed(1)
        pools.waited()
        assert pools.growths == growths
    assert pools[DEFAULT].reserved == GRANULE


def test_what_is_in_use_is_never_given_back() -> None:
    pools = Pools()
    pools.allocated(DEFAULT, 1, 100)
    pools.waited()
    pools[DEFAULT].trim(0)
    assert (pools[DEFAULT].reserved, pools[DEFAULT].used) == (GRANULE, ALIGNMENT)


def test_neighbours_that_are_free_are_one_piece_again() -> None:
    pools = Pools()
    for address in (1, 2):
        pools.allocated(DEFAULT, address, MIB)
    for address in (1, 2):
        pools.freed(address)
    pools.allocated(DEFAULT, 3, 2 * MIB)
    assert pools.growths == 1


def test_the_highest_marks_stay_when_memory_goes() -> None:
    pools = Pools()
    pools.allocated(DEFAULT, 1, 3 * MIB)
    pools.freed(1)
    pools.waited()
    pool = pools[DEFAULT]
    assert (pool.reserved, pool.reserved_high, pool.used_high) == (0, 4 * MIB, 3 * MIB)


def test_pools_do_not_share_and_other_memory_is_no_affair_of_theirs() -> None:
    pools = Pools()
    own = pools.create()
    pools.allocated(own, 1, MIB)
    pools.freed(1)
    pools.freed(77)
    pools.allocated(DEFAULT, 2, MIB)
    assert pools.growths == 2
    pools.allocated(own, 3, MIB)
    pools.destroy(own)
    pools.freed(3)
    assert pools[DEFAULT].used == MIB


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5 * MIB)), max_size=40))
def test_used_and_free_ranges_cover_each_chunk_without_gaps(steps: list[tuple[bool, int]]) -> None:
    pool = Pool()
    taken: list[Range] = []
    for free, nbytes in steps:
        if free and taken:
            pool.put_back(taken.pop(nbytes % len(taken)))
        else:
            taken.append(pool.take(nbytes)[0])
        for chunk in pool.chunks:
            assert all(a.start + a.bytes == b.start for a, b in pairwise(chunk))
            assert chunk[0].start == 0
            assert not any(a.free and b.free for a, b in pairwise(chunk))
        assert pool.reserved == sum(r.bytes for c in pool.chunks for r in c)
        assert pool.used == sum(r.bytes for r in taken)


def test_a_pool_grows_no_further_than_it_may() -> None:
    pools = Pools()
    number = pools.create(4 << 20)
    assert pools[number].has_room(4 << 20)
    assert not pools[number].has_room((4 << 20) + 1)
    pools.allocated(number, 0x1000, 3 << 20)
    assert pools[number].has_room(1 << 20)
    assert not pools[number].has_room(2 << 20)
    pools.freed(0x1000)
    assert pools[number].has_room(4 << 20)
