"""Records of a warp's asynchronous copies that have not landed."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

COPIES = Layout("copies", "count:i32 unfinished:i32 committed:i32[32] bulk_committed:i32[32]")
"""Head of a warp's queue of copies that have not landed: how many entries, and how many groups each lane has closed.
`unfinished` is the latest stamp of bulk stores whose source alone was waited for (0: none); events chain the others."""

COPY = Layout(
    "copy",
    """kind:i32 site:i32 mask:i32 size:i32 group:i32[32] bytes:i32[32] target:i64[32] source:i64[32] barrier:i64[32]
    tensor:i32 reduce:i32 corner:i64[5] known:i32[16] row:i32[32] met:i32""",
)
"""One instruction's copies: those of the lanes in `mask` are still to come. `bytes` are the source's, zeros fill up
`size`. Where `tensor` is BOX the copy is a box with the given corner, and its global side is the tensor's map; where it
is IMMEDIATE `source` holds the value that is stored. `reduce` says how a bulk copy combines with what is there, 0 for
not at all; `known` what the block knew of its cluster when it started it, `row` what the warp knew of others then, and
`met` the epoch up to which its lanes had all done their reads."""

ADDRESS, BOX, IMMEDIATE = range(3)
"""Values of a copy's `tensor`."""

GROUPED, ARRIVING, BULK_IN, BULK_OUT = range(4)
"""Values of a copy's `kind`: cp.async, its arrival on a barrier, a bulk copy that a barrier counts, one in a group."""

MAX_COPIES = 64
"""Entries of a queue; when there are more, the first lands early."""

QUEUE_BYTES = COPIES.size + MAX_COPIES * COPY.size
