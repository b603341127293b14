"""Records of a warp's wgmma in flight, and what may be wrong with a descriptor."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

WGMMA_WARPS, WGMMA_GROUPS = 4, 8
"""Warps of a warpgroup; groups that a warp keeps account of: wgmma.wait_group leaves at most 7."""

FLIGHTS = Layout("flights", f"count:i32 closed:i32 done:i32 fences:i32 issued:i32 last:i32 stamps:i32[{WGMMA_GROUPS}]")
"""Head of a warp's account of wgmma in flight: entries, groups closed and groups waited for, fences so far, how many
wgmma it has executed and the last one's site; the warp's clock in the race detector as it closed each of the last
groups."""

FLIGHT = Layout("flight", "site:i32 group:i32 low:i32 high:i32 word:i64[2] turned:i32[2] groups:i32[2] chunks:i32[2]")
"""One wgmma that reads shared memory from `low` to `high`: descriptors of A and B and their extent (`groups` 0: not in
shared memory); `group` is the number of the group it is in, the first being 1."""

ROW_LEAVES_PATTERN, BASE, STRIDE, LEADING = range(1, 5)
"""What may be wrong with a descriptor: a row that leaves its pattern, a base offset, a stride or leading offset."""

MAX_FLIGHTS = 64
"""Entries of an account; when there are more, the first is taken for complete."""

FLIGHT_BYTES = FLIGHTS.size + MAX_FLIGHTS * FLIGHT.size
