"""How rung 04 of paged attention shares out tokens: its own walk over the line, block by block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.paged_attention.ring import Ring, RingTuning, cut

MOST = 400  # parts of a block, in these tests
ASKING = """
extern "C" __global__ void walk_all(const int* lengths, int* line, int* parts, int S, int K)
{
    Walk walk(lengths, S, K);
    int count = 0;
    for (; walk.there(); walk.next()) {
        const int begin = walk.begin(), end = walk.end();
        if (begin >= end || threadIdx.x) continue;
        int* const part = parts + (blockIdx.x * 400 + count++) * 7;
        part[0] = 1, part[1] = walk.s, part[2] = walk.kv, part[3] = begin, part[4] = end;
        part[5] = walk.first(), part[6] = walk.last();
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) line[0] = walk.share, line[1] = walk.snap;
}
"""
PLAIN = cut(
    64, 2, 16, shared_per_block=1 << 17, shared_per_multiprocessor=1 << 18,
    tuning=RingTuning(least=32, part=0, snap=32, slack=4, even=0),
)  # fmt: skip
RULES: dict[str, dict[str, Any]] = {
    "tokens alone": {},
    "parts cost 24 tokens, cuts move a little": {"part": 24, "snap": 16, "slack": 16, "even": 8},
}


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens begin to end of a sequence and key head, and the blocks that it thinks have parts of it as well."""

    block: int
    sequence: int
    head: int
    begin: int
    end: int
    first: int
    last: int


@functools.cache
def walk(name: str) -> tuple[Ring, Any]:
    """The rung up to its walk, with a kernel that writes down where it comes."""
    assert isinstance(PLAIN, Ring), PLAIN
    ring = replace(PLAIN, **RULES[name])
    (file,) = (file for file in find("paged_attention").rungs() if file.name == "04_bulk_ring")
    source = file.source.partition("// -- the ring")[0] + ASKING
    with gs.use(gs.VirtualGPU("h200", sanitize=True, workers=1)):
        return ring, gs.cuda(source, [f"-D{macro}={value}" for macro, value in ring.macros.items()])["walk_all"]


def shared_out(name: str, lengths: list[int], heads: int, blocks: int) -> tuple[int, int, list[Part]]:
    """A share and how far a cut moves, both in places on the line; and all parts."""
    line, parts = np.zeros(2, np.int32), np.zeros((blocks, MOST, 7), np.int32)
    with gs.use(gs.VirtualGPU("h200", sanitize=True, workers=1)):
        walk(name)[1][blocks, 32](np.array(lengths, np.int32), line, parts, len(lengths), heads)
    found = [Part(b, *row[1:].tolist()) for b, rows in enumerate(parts) for row in rows if row[0]]
    return int(line[0]), int(line[1]), found


LENGTHS = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 700)), min_size=1, max_size=70)
EQUAL = st.tuples(st.integers(1, 400), st.integers(1, 40)).map(lambda of: [of[0]] * of[1])
BATCH = pytest.mark.parametrize("name", RULES)


@BATCH
@settings(max_examples=25)
@given(lengths=st.one_of(LENGTHS, EQUAL), heads=st.integers(1, 4), blocks=st.sampled_from([1, 3, 16, 150]))
def test_every_token_has_one_block_and_shares_are_as_equal_as_cuts_allow(
    name: str, lengths: list[int], heads: int, blocks: int
) -> None:
    ring = walk(name)[0]
    share, snap, parts = shared_out(name, lengths, heads, blocks)
    seen: dict[tuple[int, int], list[Part]] = {}
    for part in parts:
        seen.setdefault((part.sequence, part.head), []).append(part)
    assert sorted(seen) == [(s, kv) for s, length in enumerate(lengths) if length for kv in range(heads)]
    for (s, _), of in seen.items():
        ends = [0, *(part.end for part in of)]
        assert [part.begin for part in of] == ends[:-1]
        assert ends[-1] == lengths[s]
        assert all(part.begin % ring.piece == 0 for part in of)
        if len(of) > 1:
            assert {(part.first, part.last) for part in of} == {(of[0].block, of[-1].block)}
            assert [part.block for part in of] == list(range(of[0].block, of[-1].block + 1))
            assert min(part.end - part.begin for part in of) >= min(snap, share) - ring.piece
    for block in range(blocks):
        mine = [part for part in parts if part.block == block]
        moved = 2 * max(snap, ring.piece)
        assert sum(part.end - part.begin + ring.part * (part.begin == 0) for part in mine) <= share + moved + ring.part


@BATCH
@settings(max_examples=10)
@given(lengths=LENGTHS, blocks=st.sampled_from([2, 16]))
def test_a_block_keeps_its_first_and_its_last_part_for_others_and_no_more(
    name: str, lengths: list[int], blocks: int
) -> None:
    _, _, parts = shared_out(name, lengths, 2, blocks)
    for block in range(blocks):
        cuts = [part for part in parts if part.block == block and part.end - part.begin < lengths[part.sequence]]
        assert sum(part.begin > 0 for part in cuts) <= 1
        assert sum(part.begin == 0 for part in cuts) <= 1


@pytest.mark.parametrize(("length", "sequences", "heads", "parts"), [(512, 8, 2, 1), (248, 4, 1, 4), (128, 11, 3, 1)])
def test_where_sequences_are_equally_long_shares_end_with_them(
    length: int, sequences: int, heads: int, parts: int
) -> None:
    share, _, found = shared_out("parts cost 24 tokens, cuts move a little", [length] * sequences, heads, 17)
    assert len(found) == parts * sequences * heads
    assert all(part.block == (i // 2 if length == 128 else i) for i, part in enumerate(found)), share


def test_few_sequences_begin_with_blocks_that_have_no_other() -> None:
    lengths = [20, 0, 300, 47, 49]
    _, _, parts = shared_out("parts cost 24 tokens, cuts move a little", lengths, 2, 64)
    assert len({part.block for part in parts}) == len(parts)
    assert [part.end - part.begin for part in parts if part.head == 1] == [20, *[32] * 8, 44, 47, 49]


def test_short_sequences_have_blocks_of_their_own_while_there_are_blocks() -> None:
    _, _, parts = shared_out("tokens alone", [20, 0, 20, 20], 2, 16)
    assert [part.block for part in parts] == list(range(6))


def test_where_parts_cost_blocks_of_short_sequences_have_fewer_tokens() -> None:
    lengths = [600] * 8 + [16] * 60
    most = {}
    for name in RULES:
        _, _, parts = shared_out(name, lengths, 2, 16)
        most[name] = max(sum(part.block == block for part in parts) for block in range(16))
    assert most["parts cost 24 tokens, cuts move a little"] < 0.7 * most["tokens alone"]


def test_nothing_to_do_is_nothing_done() -> None:
    assert shared_out("tokens alone", [0, 0, 0], 2, 3)[2] == []
