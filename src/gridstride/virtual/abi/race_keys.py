"""Keys by which races are counted, one for each pair of sites."""

from __future__ import annotations

GLOBAL_RACE, RACE_OF_LANES, GLOBAL_RACE_OF_LANES = 127, 126, 125
"""Races in global memory, between the lanes of a warp in shared memory, and between those in global memory, among the
kinds of findings by which they are counted: one between lanes must not hide one between warps."""


def pair_key(kind: int, site: int, other: int) -> int:
    """The key under which findings of a kind between two sites are counted."""
    return kind << 56 | site << 28 | other


NOT_TOLD = 0x40
"""Beside the lane of the other side in a finding: one of both warps had a single lane arrive or wait for it."""

UNWATCHED = 0xFF
"""Instead of how strong an access is: races are looked for elsewhere."""
