"""Records of memory: what accesses are checked against, and the device heap."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

ALLOCATION = Layout("allocation", "start:i64 size:i64", align=16)
"""A live allocation, sorted by start: what a bounds check is made against."""

SITE = Layout("site", "low:i64 limit:i64 span:i64 spare:i64", align=32)
"""Bounds an access last hit: `rotr(address - low, log2 align) < limit` means inside and aligned; limit 0 never hits.

`span` is the most bytes that one of the site's checks covers; `spare` is 1 once an unset read was told of here."""

UNSET_SHIFT = 2
"""Global memory's shadow has a byte for each word of 4 bytes: 1 where no byte of the word was ever written."""

HEAP = Layout(
    "heap",
    """start:i64 size:i64 units:i64 cursor:i64 owner:ptr bytes:ptr lock:i32 failed:i32 allocations:i64 frees:i64
    live:i64 live_bytes:i64 asked:i64 unset:ptr origins:origin* no_room:i64""",
)
"""The device heap: `owner` says for each unit which unit its block starts at (plus 1; 0: none yet), `bytes` at a
block's first unit how long it is (-1 - length once freed). `failed` counts requests that found no room, `asked` are the
bytes of the others. `no_room`: the fewest units that were looked for in vain since something was freed, 0 for none."""

HEAP_UNIT = 32
"""Bytes; a block has at least one unit of its own behind it that belongs to nobody."""

ORIGIN = Layout("origin", "origin:i32 site:i32 warp:i32 lane:i32 ctaid:i32[3] spare:i32", align=8)
"""Who allocated a block of the device heap; one for each unit, filled in at a block's first."""
