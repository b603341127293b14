"""Inputs of a pass over prompts: its size, where its keys lie, and what stands behind the batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gridstride.serve.engine.batch import Batch, Draw
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.runner.cuda.packed_attention import PIECE
from gridstride.serve.runner.cuda.pieces import cut
from gridstride.serve.runner.cuda.prompt_keys import GatheredKeys, PagedKeys, PromptKeys, slots_of
from gridstride.serve.runner.cuda.prompts import MOST_KEYS, PassSize, PromptInputs, needed, recorded, sized

TOKENS = (64, 256, 1024)


def test_a_pass_is_the_smallest_recorded_one_with_room() -> None:
    assert recorded(PassSize(tokens=64, keys=64, sequences=16), TOKENS) == PassSize(64, 64, 16)
    assert recorded(PassSize(tokens=65, keys=65, sequences=1), TOKENS) == PassSize(256, 256, 32)
    assert recorded(PassSize(tokens=99, keys=99, sequences=33), TOKENS) == PassSize(1024, 1024, 128)  # many short ones
    assert recorded(PassSize(tokens=20, keys=300, sequences=1), TOKENS) == PassSize(
        64, 1024, 16
    )  # behind what is cached


def test_a_pass_has_room_for_all_that_is_drawn() -> None:
    made = Batch(
        tokens=np.arange(9), positions=np.arange(9), slots=np.arange(9), starts=np.array([0, 9], np.int32),
        lengths=np.array([9], np.int32), blocks=np.zeros((1, 2), np.int32), sampled=np.arange(9, dtype=np.int32),
        draws=tuple(Draw(Sampling(), i, (), ()) for i in range(9)),
    )  # fmt: skip
    assert needed(made, gathered=True) == PassSize(tokens=9, keys=9, sequences=9)
    assert needed(made, gathered=False) == PassSize(tokens=9, keys=0, sequences=9)


def test_keys_that_are_not_gathered_take_no_room() -> None:
    assert recorded(PassSize(tokens=20, keys=0, sequences=1), TOKENS) == sized(64, keys=0) == PassSize(64, 0, 16)


def test_what_no_recorded_pass_has_room_for_has_none() -> None:
    assert recorded(PassSize(tokens=1025, keys=1025, sequences=1), TOKENS) is None
    assert recorded(PassSize(tokens=65, keys=MOST_KEYS + 1, sequences=1), TOKENS) is None
    assert recorded(PassSize(tokens=300, keys=300, sequences=129), TOKENS) is None
    assert recorded(PassSize(tokens=1, keys=1, sequences=1), ()) is None


def test_long_chunks_are_cut_into_pieces_that_see_more_and_more() -> None:
    made = cut(np.array([0, 3, PIECE + 8], np.int32), np.array([10, PIECE + 5], np.int32), PIECE)
    assert made.owner.tolist() == [0, 1, 1]
    assert made.first.tolist() == [0, 3, PIECE + 3]
    assert made.count.tolist() == [3, PIECE, 5]
    assert made.visible_keys.tolist() == [10, PIECE, PIECE + 5]


def test_the_slots_of_all_tokens_of_all_sequences() -> None:
    blocks = np.array([[5, 2, 0], [1, 7, 3]], np.int32)
    assert slots_of(blocks, np.array([3, 5], np.int32), 2).tolist() == [10, 11, 4, 2, 3, 14, 15, 6]


def gathered() -> GatheredKeys:
    return GatheredKeys(tokens=64, sequences=16, keys=64, heads=3, block_size=2, scale=1.0)


def paged() -> PagedKeys:
    return PagedKeys(tokens=64, sequences=16, group=64, width=5, scale=1.0)


def prompts_with(keys: PromptKeys) -> PromptInputs:
    logits = torch.empty(16, 50)
    return PromptInputs(sized(64, keys=64), keys, spare=9, block_size=2, logits=logits, device=torch.device("cpu"))


@pytest.mark.parametrize("keys", [gathered, paged])
def test_what_an_earlier_batch_left_does_not_show(keys: Callable[[], PromptKeys]) -> None:
    prompts = prompts_with(keys())
    prompts.fill(batch([6, 5, 3], Sampling(temperature=0.7, top_p=0.5, seed=3)))
    prompts.fill(batch([2], Sampling(temperature=0.0)))
    field = prompts.field
    assert field["tokens"].tolist() == [100, 101] + [0] * 62
    assert set(field["slots"].tolist()[2:]) == {18}  # of the block that belongs to nobody
    if "pieces" in field:
        assert field["pieces"].view(-1, 4).tolist() == [[0, 2, 0, 2]] + [[0] * 4] * 47
    else:
        assert (field["piece_queries"].tolist()[:2], set(field["piece_queries"].tolist()[1:])) == ([0, 2], {2})
        assert field["piece_seen"].tolist() == [2] + [0] * 15
    assert field["last"].tolist() == [1] + [0] * 15
    assert set(field["temperature"].tolist()) == {0.0}
    assert set(field["top_p"].tolist()) == {1.0}


def test_the_pieces_that_see_most_come_first_and_know_their_rows_of_the_tables() -> None:
    prompts = prompts_with(paged())
    prompts.fill(batch([3, 5], Sampling()))
    pieces, tables = prompts.field["pieces"].view(-1, 4), prompts.field["tables"].view(16, 5)
    assert pieces[:6].tolist() == [[7, 1, 1, 5], [5, 2, 1, 4], [2, 1, 0, 3], [0, 2, 0, 2], [3, 2, 1, 2], [0] * 4]
    assert tables[:2, :3].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_cache_is_read_token_by_token_head_by_head() -> None:
    keys = gathered()
    prompts = prompts_with(keys)
    prompts.fill(batch([3], Sampling()))
    cache = torch.arange(10 * 3 * 2).view(10, 3, 2)  # blocks, heads, places
    found = cache.flatten()[keys.rows(prompts._packet)].view(-1, 3)[:3]
    assert found.tolist() == [cache[0, :, 0].tolist(), cache[0, :, 1].tolist(), cache[1, :, 0].tolist()]


def batch(counts: list[int], sampling: Sampling) -> Batch:
    """Fresh prompts in blocks of two, one after the other."""
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    lengths = np.array(counts, np.int32)
    blocks = np.arange(3 * len(counts), dtype=np.int32).reshape(-1, 3)
    return Batch(
        tokens=np.arange(starts[-1]) + 100,
        positions=np.concatenate([np.arange(count) for count in counts]),
        slots=slots_of(blocks, lengths, 2),
        starts=starts,
        lengths=lengths,
        blocks=blocks,
        sampled=starts[1:] - 1,
        draws=(Draw(sampling, 0, (), ()),) * len(counts),
    )
