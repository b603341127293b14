"""Records of findings, and the keys by which races are counted."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

FINDING = Layout(
    "finding",
    """kind:i32 site:i32 warp:i32 lane:i32 ctaid:i32[3] other_site:i32 other_warp:i32 other_lane:i32 address:i64
    other_block:i64 space:i32 writes:i32 passed:i32""",
    align=8,
)
"""Something wrong that did not stop the launch: a race, a barrier that only part of a warp reached. Of a race in global
memory (`space` 1) the other side may be in another block, of linear index `other_block`; `writes` says who wrote.
Of one in shared memory `passed` is the site, plus 1, of the barrier that this warp has come to since the warp of the
other side ended; 0 where there is none."""

MAX_FINDINGS = 256
SINGLE_LANE_WAIT = 0x40
"""Beside the lane of the other side in a finding: one of both warps had a single lane arrive or wait for it."""

OTHER_MASK = 0x80
"""Beside the lane of the other side in a finding of member masks: it names the lane, with another mask."""

PAIR = Layout("pair", "key:i64 count:i64", align=16)
"""How many findings of one kind there were between two sites: kind << 56 | site << 28 | other site."""

PAIRS = 256
"""Entries, a power of two; of findings between more pairs of sites only the first are told."""

GLOBAL_RACE, RACE_OF_LANES, GLOBAL_RACE_OF_LANES, RACE_OF_BLOCKS = 127, 126, 125, 124
"""Races in global memory, between the lanes of a warp in shared memory, between those in global memory, and between the
blocks of a cluster in shared memory, among the kinds of findings by which they are counted: one between lanes must not
hide one between warps, nor one within a block one between blocks."""


def pair_key(kind: int, site: int, other: int) -> int:
    """The key under which findings of a kind between two sites are counted."""
    return kind << 56 | site << 28 | other
