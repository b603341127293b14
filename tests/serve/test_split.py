"""Batches in parts: which sequences a graph can decode, and that the parts together are the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.batch import Batch, Draw, Sampled, TokenLogprobs
from gridstride.serve.sampling import Sampling
from gridstride.serve.split import decodable, drawn_on_device, joined, part

PLAIN, PENALISED = Sampling(), Sampling(presence_penalty=0.5)
sequences = st.lists(
    st.tuples(st.integers(1, 4), st.booleans(), st.sampled_from([PLAIN, PENALISED])), min_size=1, max_size=8
)
"""New tokens, whether the next one is wanted, and how."""


def batch(made: list[tuple[int, bool, Sampling]]) -> Batch:
    """Every number is another one, so that a mistake in the order shows."""
    counts = np.array([count for count, _, _ in made])
    total, starts = int(counts.sum()), np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    wanted = [i for i, (_, sampled, _) in enumerate(made) if sampled]
    return Batch(
        tokens=np.arange(total) + 1000,
        positions=np.arange(total) + 2000,
        slots=np.arange(total) + 3000,
        starts=starts,
        lengths=np.arange(len(made), dtype=np.int32) + 10,
        blocks=np.arange(len(made) * 2, dtype=np.int32).reshape(-1, 2),
        sampled=np.array([starts[i + 1] - 1 for i in wanted], np.int32),
        draws=tuple(Draw(made[i][2], i, (), ()) for i in wanted),
    )


def test_what_a_graph_decodes_has_one_token_and_is_drawn_by_plain_means() -> None:
    made = [(1, True, PLAIN), (2, True, PLAIN), (1, False, PLAIN), (1, True, PENALISED)]
    assert decodable(batch(made)).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    "sampling",
    [Sampling(logprobs=0), Sampling(schema=""), Sampling(logit_bias={3: 1.0}), Sampling(repetition_penalty=1.1),
     Sampling(frequency_penalty=0.1), PENALISED],
)  # fmt: skip
def test_what_needs_the_host_is_not_drawn_on_the_device(sampling: Sampling) -> None:
    assert not drawn_on_device(sampling)
    assert drawn_on_device(Sampling(temperature=0.3, top_k=4, top_p=0.5, min_p=0.1, seed=7))


@given(sequences)
def test_both_parts_have_each_sequence_once_with_all_that_is_its_own(made: list[tuple[int, bool, Sampling]]) -> None:
    whole = batch(made)
    chosen = decodable(whole)
    seen: list[int] = []
    for mask in (chosen, ~chosen):
        piece, draws = part(whole, mask)
        for s, original in enumerate(np.flatnonzero(mask).tolist()):
            mine, its = slice(*piece.starts[s : s + 2]), slice(*whole.starts[original : original + 2])
            for name in ("tokens", "positions", "slots"):
                assert getattr(piece, name)[mine].tolist() == getattr(whole, name)[its].tolist()
            assert piece.lengths[s] == whole.lengths[original]
            assert piece.blocks[s].tolist() == whole.blocks[original].tolist()
        assert piece.tokens[piece.sampled].tolist() == whole.tokens[whole.sampled[draws]].tolist()
        assert [draw.index for draw in piece.draws] == [whole.draws[i].index for i in draws]
        seen += draws.tolist()
    assert sorted(seen) == list(range(len(whole.draws)))


def test_what_the_parts_gave_comes_in_the_order_of_the_draws() -> None:
    said = (TokenLogprobs(-1.0, ()),)
    first = Sampled(np.array([[7], [9]]), (None, None)), np.array([0, 2])
    second = Sampled(np.array([[8]]), (said,)), np.array([1])
    whole = joined([first, second])
    assert whole.tokens.tolist() == [[7], [8], [9]]
    assert whole.logprobs == (None, said, None)
