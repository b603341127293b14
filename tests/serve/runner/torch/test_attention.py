"""Attention over the paged cache: windows and caps, in any batch, are those of each sequence alone."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gridstride.models import ops
from gridstride.models.decoder import LayerAttention
from gridstride.serve.engine.batch import Batch
from gridstride.serve.runner.torch.attention import GatherBuffers, Groups, PagedAttention

HEADS, KEY_HEADS, WIDTH = 4, 2, 4


def batch(sequences: list[tuple[int, int]], size: int, blocks: np.ndarray) -> Batch:
    """Of sequences with so many tokens before and so many new ones."""
    positions = np.concatenate([np.arange(past, past + new) for past, new in sequences])
    whose = np.repeat(np.arange(len(sequences)), [new for _, new in sequences])
    return Batch(
        tokens=np.zeros_like(positions), positions=positions,
        slots=blocks[whose, positions // size].astype(np.int64) * size + positions % size,
        starts=np.cumsum([0, *(new for _, new in sequences)]).astype(np.int32),
        lengths=np.array([past + new for past, new in sequences], np.int32), blocks=blocks,
        sampled=np.zeros(0, np.int32), draws=(),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    sequences=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9) | st.integers(23, 30)), min_size=1, max_size=5),
    size=st.integers(1, 7),
    window=st.none() | st.integers(1, 50),
    cap=st.none() | st.just(0.8),
)
def test_each_sequence_sees_what_it_would_alone(
    sequences: list[tuple[int, int]], size: int, window: int | None, cap: float | None
) -> None:
    torch.manual_seed(0)
    longest = max(past + new for past, new in sequences)
    width = -(-longest // size)
    blocks = np.random.default_rng(0).permutation(len(sequences) * width).astype(np.int32).reshape(-1, width)
    cache = torch.full((2, 1, blocks.size + 1, size, KEY_HEADS, WIDTH), torch.nan)
    cache[:, :, -1] = 0
    whole = [[torch.randn(past + new, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS)]
             for past, new in sequences]  # fmt: skip
    earlier = [(0, past) for past, _ in sequences]
    which = LayerAttention(0, window, cap)

    def attended(lengths: list[tuple[int, int]]) -> Tensor:
        chosen = [place for place, (_, new) in enumerate(lengths) if new]
        attend = PagedAttention(cache, batch([lengths[i] for i in chosen], size, blocks[chosen]), GatherBuffers())
        q, k, v = (
            torch.cat([whole[i][kind][lengths[i][0] : sum(lengths[i])] for i in chosen]) for kind in range(3)
        )  # fmt: skip
        return attend(which, q, k, v)

    if any(past for _, past in earlier):
        attended(earlier)
    alone = [
        ops.causal_attention(q[None], k[None], v[None], window=window, cap=cap)[0, past:]
        for (q, k, v), (past, _) in zip(whole, sequences, strict=True)
    ]
    torch.testing.assert_close(attended(sequences), torch.cat(alone), atol=1e-5, rtol=1e-5)


def test_a_window_reads_only_the_blocks_that_it_reaches_into() -> None:
    cache = torch.zeros(2, 1, 31, 4, KEY_HEADS, WIDTH)
    blocks = np.arange(30, dtype=np.int32).reshape(1, -1)
    q, k, v = (torch.randn(25, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS))

    def groups(past: int, new: int) -> Groups:
        attend = PagedAttention(cache, batch([(past, new)], 4, blocks), GatherBuffers())
        attend(LayerAttention(0, 10), q[:new], k[:new], v[:new])
        return attend._groups[10]

    assert groups(77, 25).chunks[0].blocks.tolist() == [17, 18, 19, 20, 21, 22, 23, 24, 25]  # of positions 68 to 103
    assert groups(99, 3).decoding[0].blocks.tolist() == [22, 23, 24, 25]
    assert groups(101, 1).decoding[0].blocks.tolist() == [23, 24, 25]
