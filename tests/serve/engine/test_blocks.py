"""The block pool: who holds what, which prefix is found, which block gives way."""

from __future__ import annotations

from gridstride.serve.engine.blocks import START, BlockPool

SIZE = 2


def fill(pool: BlockPool, tokens: list[int]) -> list[int]:
    """Blocks of a sequence that computes these tokens, made known."""
    blocks, content = [], START
    for start in range(0, len(tokens), SIZE):
        block, content = pool.share(pool.take(), content, tuple(tokens[start : start + SIZE]))
        blocks.append(block)
    return blocks


def test_a_prefix_is_found_in_whole_blocks() -> None:
    pool = BlockPool(8, SIZE)
    blocks = fill(pool, [1, 2, 3, 4])
    assert pool.find([1, 2, 3, 4, 5])[0] == blocks
    assert pool.find([1, 2, 3, 9, 5])[0] == blocks[:1]
    assert pool.find([9, 2, 3, 4, 5])[0] == []


def test_one_token_is_left_to_draw_from() -> None:
    pool = BlockPool(8, SIZE)
    blocks = fill(pool, [1, 2, 3, 4])
    assert pool.find([1, 2, 3, 4])[0] == blocks[:1]


def test_equal_tokens_after_other_ones_are_not_the_same_content() -> None:
    pool = BlockPool(8, SIZE)
    fill(pool, [1, 2, 7, 7])
    other = fill(pool, [3, 4])
    assert pool.find([3, 4, 7, 7, 0])[0] == other


class Same(int):
    """A token whose hash is that of every other: what is found must not hang on hashes."""

    def __hash__(self) -> int:
        return 1


def test_hashes_that_collide_find_nothing_wrong() -> None:
    pool = BlockPool(8, SIZE)
    first, second = ([Same(n) for n in row] for row in ([1, 2], [3, 4]))
    blocks = fill(pool, first), fill(pool, second)
    assert hash(tuple(first)) == hash(tuple(second))
    assert [pool.find([*row, Same(0)])[0] for row in (first, second)] == list(blocks)


def test_content_of_an_evicted_block_does_not_come_back_with_its_number() -> None:
    pool = BlockPool(2, SIZE)
    blocks = fill(pool, [1, 2, 3, 4])
    pool.release(blocks)
    taken = [pool.take(), pool.take()]
    pool.release(taken)
    again = fill(pool, [5, 6])
    assert again[0] in blocks
    assert pool.find([1, 2, 3, 4, 0])[0] == []
    assert pool.find([5, 6, 3, 4, 0])[0] == again


def test_equal_content_computed_twice_is_held_once() -> None:
    pool = BlockPool(8, SIZE)
    first, second = fill(pool, [1, 2, 3, 4]), fill(pool, [1, 2, 3, 4])
    assert first == second
    assert pool.used == 2
    assert [pool.holders[block] for block in first] == [2, 2]


def test_the_least_recently_used_prefix_gives_way_and_its_end_before_its_beginning() -> None:
    pool = BlockPool(4, SIZE)
    old, new = fill(pool, [1, 2, 3, 4]), fill(pool, [5, 6, 7, 8])
    pool.release(old)
    pool.release(new)
    assert pool.cached == 4
    assert [pool.take() for _ in range(3)] == [old[1], old[0], new[1]]
    assert pool.find([5, 6, 7, 8, 9])[0] == new[:1]


def test_a_cached_block_that_is_held_again_does_not_give_way() -> None:
    pool = BlockPool(2, SIZE)
    blocks = fill(pool, [1, 2, 3, 4])
    pool.release(blocks)
    pool.hold(blocks[0])
    assert (pool.used, pool.cached, pool.available) == (1, 1, 1)
    assert pool.take() == blocks[1]
    assert pool.available == 0


def test_what_is_forgotten_is_not_found_and_free_once_released() -> None:
    pool = BlockPool(4, SIZE)
    blocks = fill(pool, [1, 2, 3, 4])
    pool.forget(blocks)
    assert pool.find([1, 2, 3, 4, 0])[0] == []
    assert pool.used == 2
    pool.release(blocks)
    assert (pool.free, pool.cached) == (4, 0)
