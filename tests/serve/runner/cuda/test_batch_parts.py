"""Batches in parts: decoding sequences, passes over prompts, and that the parts together are the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridstride.serve.engine.batch import Batch, Draw, Sampled, TokenLogprobs
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.runner.cuda.batch_parts import BatchPart, PassLimits, joined, parts

sequences = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=12)
"""New tokens, tokens before them, of how many of the last ones the next is wanted."""
ROOMY = PassLimits(tokens=100, keys=1000, sequences=100)


def batch(made: list[tuple[int, int, int]]) -> Batch:
    """Every number is another one, so that a mistake in the order shows."""
    counts = np.array([count for count, _, _ in made])
    total, starts = int(counts.sum()), np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    wanted = [
        end - 1 - i for end, (count, _, last) in zip(starts[1:], made, strict=True) for i in range(min(count, last))
    ]
    return Batch(
        tokens=np.arange(total) + 1000,
        positions=np.arange(total) + 2000,
        slots=np.arange(total) + 3000,
        starts=starts,
        lengths=counts.astype(np.int32) + np.array([before for _, before, _ in made], np.int32),
        blocks=np.arange(len(made) * 2, dtype=np.int32).reshape(-1, 2),
        sampled=np.array(sorted(wanted), np.int32),
        draws=tuple(Draw(Sampling(), i, (), ()) for i in range(len(wanted))),
    )


def counts(part: BatchPart) -> list[int]:
    return np.diff(part.batch.starts).tolist()


def test_sequences_with_one_new_token_come_first_so_many_at_a_time() -> None:
    made = [(1, 3, 1), (3, 0, 1), (1, 5, 1), (2, 2, 0), (1, 0, 1)]
    found = list(parts(batch(made), decoding=2, prompts=ROOMY))
    assert [(part.decoding, counts(part)) for part in found] == [(True, [1, 1]), (True, [1]), (False, [3, 2])]


def test_a_batch_of_one_kind_is_its_own_part() -> None:
    for kind in (1, 2):
        whole = batch([(kind, 0, 1)] * 3)
        (part,) = parts(whole, decoding=3, prompts=ROOMY)
        assert part.batch is whole
        assert part.draws.tolist() == [0, 1, 2]


def test_a_pass_ends_before_the_sequence_that_would_be_too_much() -> None:
    made = batch([(4, 0, 1), (3, 0, 1), (2, 9, 1), (2, 0, 1), (2, 0, 1), (4, 90, 1)])
    limits = PassLimits(tokens=7, keys=13, sequences=2)
    found = list(parts(made, decoding=1, prompts=limits))
    assert [counts(part) for part in found] == [[4, 3], [2, 2], [2], [4]]  # the last one has too many keys by itself


def test_a_sequence_from_which_several_tokens_are_drawn_counts_as_so_many() -> None:
    made = batch([(3, 5, 3), (2, 5, 1), (4, 5, 4), (2, 5, 2)])
    found = list(parts(made, decoding=1, prompts=PassLimits(tokens=100, keys=1000, sequences=4)))
    assert [len(part.draws) for part in found] == [4, 4, 2]


@given(sequences, st.integers(1, 5), st.builds(PassLimits, *(st.integers(1, 20) for _ in range(3))))
def test_the_parts_have_each_sequence_once_with_all_that_is_its_own(
    made: list[tuple[int, int, int]], decoding: int, limits: PassLimits
) -> None:
    whole = batch(made)
    seen: list[int] = []
    rows: list[int] = []
    for part in parts(whole, decoding=decoding, prompts=limits):
        piece = part.batch
        for s in range(len(piece.lengths)):
            mine = slice(*piece.starts[s : s + 2])
            original = int(np.searchsorted(whole.starts, piece.tokens[mine][0] - 1000, side="right")) - 1
            its = slice(*whole.starts[original : original + 2])
            for name in ("tokens", "positions", "slots"):
                assert getattr(piece, name)[mine].tolist() == getattr(whole, name)[its].tolist()
            assert piece.lengths[s] == whole.lengths[original]
            assert piece.blocks[s].tolist() == whole.blocks[original].tolist()
        assert piece.tokens[piece.sampled].tolist() == whole.tokens[whole.sampled[part.draws]].tolist()
        assert [draw.index for draw in piece.draws] == [whole.draws[i].index for i in part.draws]
        assert len(piece.lengths) <= (decoding if part.decoding else limits.sequences)
        alone = len(piece.lengths) == 1
        assert part.decoding or alone or (len(piece.tokens) <= limits.tokens and piece.lengths.sum() <= limits.keys)
        assert part.decoding or alone or len(piece.draws) <= limits.sequences
        seen += part.draws.tolist()
        rows += piece.tokens.tolist()
    assert sorted(seen) == list(range(len(whole.draws)))
    assert sorted(rows) == whole.tokens.tolist()


READ, OTHER = (TokenLogprobs(-2.0, ()),), (TokenLogprobs(-3.0, ()),)


def part(*, draws: list[int], reads: list[int]) -> BatchPart:
    """Of a batch that does not matter here."""
    batch: Any = None
    return BatchPart(batch, np.array(draws), True, np.array(reads))


def test_what_the_parts_gave_comes_in_the_order_of_the_draws() -> None:
    said = (TokenLogprobs(-1.0, ()),)
    first = Sampled(np.array([[7], [9]]), (None, None), (READ,)), part(draws=[0, 2], reads=[1])
    second = Sampled(np.array([[8]]), (said,), (OTHER,)), part(draws=[1], reads=[0])
    whole = joined([first, second], steps=1)
    assert whole.readings == (OTHER, READ)
    assert whole.tokens.tolist() == [[7], [8], [9]]
    assert whole.logprobs == (None, said, None)


def test_only_decoding_sequences_take_several_steps() -> None:
    """And -1 stands where the others took none."""
    whole = replace(batch([(1, 5, 1), (3, 0, 1), (1, 2, 1)]), steps=4)
    found = list(parts(whole, decoding=8, prompts=ROOMY))
    assert [(part.decoding, part.batch.steps) for part in found] == [(True, 4), (False, 1)]
    results = [(Sampled(np.full((len(p.draws), p.batch.steps), 7), (None,) * len(p.draws)), p) for p in found]
    assert joined(results, steps=4).tokens.tolist() == [[7] * 4, [7, -1, -1, -1], [7] * 4]


def test_a_batch_of_prompts_alone_takes_one_step() -> None:
    (alone,) = parts(replace(batch([(3, 0, 1)]), steps=4), decoding=8, prompts=ROOMY)
    assert alone.batch.steps == 1
    assert joined([(Sampled(np.array([[7]]), (None,)), alone)], steps=4).tokens.tolist() == [[7, -1, -1, -1]]
