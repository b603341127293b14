"""Memory layouts shared by Python and the generated machine code: one place says where every field lies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

LANES = 32
"""Threads in a warp; every vector register has this many elements."""

BARRIERS = 16
"""Named barriers a block owns (PTX: barrier operand `a` is 0–15)."""

_NUMPY = {"i8": "u1", "i32": "u4", "i64": "u8", "ptr": "u8"}
_SIZE = {"i8": 1, "i32": 4, "i64": 8, "ptr": 8}


class Layout:
    """A C-like struct given as `name:type` or `name:type[count]` words; types i8, i32, i64, ptr."""

    def __init__(self, name: str, fields: str, *, align: int = 64) -> None:
        self.name = name
        self.offset: dict[str, int] = {}
        self.type: dict[str, str] = {}
        self.count: dict[str, int] = {}
        end = 0
        for field, kind, count in _fields(fields):
            size = _SIZE[kind]
            end = -(-end // size) * size
            self.offset[field], self.type[field], self.count[field] = end, kind, count
            end += size * count
        self.size = -(-end // align) * align

    def dtype(self) -> np.dtype[np.void]:
        """The same struct as a NumPy record dtype."""
        formats = [_NUMPY[self.type[f]] if n == 1 else (_NUMPY[self.type[f]], (n,)) for f, n in self.count.items()]
        offsets = list(self.offset.values())
        spec: Any = {"names": list(self.offset), "formats": formats, "offsets": offsets, "itemsize": self.size}
        found: np.dtype[np.void] = np.dtype(spec)
        return found


def _fields(text: str) -> Iterable[tuple[str, str, int]]:
    for word in text.split():
        field, kind = word.split(":")
        kind, _, count = kind.partition("[")
        yield field, kind, int(count.rstrip("]") or 1)


WARP = Layout(
    "warp",
    """sp:ptr scheduler:ptr launch:ptr block:ptr worker:ptr shared:i64 shared_size:i64 local:i64
    params:ptr sites:ptr table:ptr tids:ptr counters:ptr stack_limit:i64
    ctaid:i32[3] warp:i32 tid:i32[3] mask:i32 live:i32 state:i32 site:i32 epoch:i32
    ntid:i32[3] nctaid:i32[3] slot:i32 observed:i32 copies:ptr
    unset:i64 unset_low:i64 unset_span:i64 local_unset:i64 polled:i64 polled_site:i32""",
)
"""One warp: a fiber and what its code reads. `tid` is lane 0's; `tids` points at per-lane x, y, z vectors.

`observed` is 1 where the block is counted. A waiting warp is woken when its block's epoch is no longer `epoch`; `site`
is where it last waited. `copies` is its queue of asynchronous copies, null in the fast build; `unset` and what
belongs to it are the launch's, `local_unset` the start of the shadow of its local memory (a byte for each byte), 0
where reads are not checked. `polled` is where it last looked for what it waits for."""

READY, WAITING, SPINNING, DONE = 0, 1, 2, 3
"""Values of a warp's `state`."""

BLOCK = Layout(
    "block",
    f"""warps:ptr shared:i64 ctaid:i32[3] threads:i32 warp_count:i32 finished:i32 active:i32 epoch:i32 cursor:i32
    index:i64 arrived:i32[{BARRIERS}] phases:i32[{BARRIERS}] expected:i32[{BARRIERS}] votes:i32[{BARRIERS}]
    results:i32[{BARRIERS}] members:i32[{BARRIERS}] race:ptr lanes:ptr""",
)
"""One resident block and its barriers. `cursor` is the next warp of the round; `phases` counts completions of each
barrier, `epoch` of all; `votes`/`results` serve `bar.red`; `members` are the warps that arrived; `race` is the block's
shadow of shared memory, null if not observed; `lanes` that of the lanes of each warp, null without a seed."""

WORKER = Layout(
    "worker",
    """scheduler:ptr launch:ptr blocks:ptr warps:ptr stacks:i64 stack_size:i64 shared:i64 shared_stride:i64
    local:i64 local_stride:i64 sites:ptr counters:ptr slots:i32 index:i32 race:ptr race_stride:i64 copies:ptr
    row:i64 row_end:i64 local_unset:i64 lanes:ptr lanes_stride:i64""",
)
"""One operating-system thread that runs blocks, `row` to `row_end` of the grid next; it owns the stacks, shared and
local memory of its slots."""

LAUNCH = Layout(
    "launch",
    """entry:ptr params:ptr table:ptr allocations:ptr allocation_count:i64 tids:ptr
    grid:i32[3] ntid:i32[3] warps_per_block:i32 threads_per_block:i32 blocks:i64 shared_size:i64 local_size:i64
    abort:i32 faulted:i32 fault_kind:i32 fault_site:i32 fault_lane:i32 fault_warp:i32 fault_ctaid:i32[3] fault_size:i32
    fault_address:i64 fault_mask:i32
    fault_space:i32 param_size:i64 shared_stacks:i32 multiprocessors:i32
    findings:ptr finding_count:i32 sample:i32
    output:ptr output_size:i64 output_used:i64 output_lost:i64 heap:ptr envreg:i32[2]
    in_a_row:i64 apart:i64[8] next:i64 alone:i64[7]
    unset:i64 unset_low:i64 unset_span:i64 origin:i32 shift:i32 reversed:i32""",
)
"""One launch, shared by all workers. `abort` stops every loop at its next back edge; `next` is the next block that no
worker has taken (they take `in_a_row`), on a cache line of its own, for all write it and read the rest.

A seed has the warps of a block take turns from number `shift` on, downwards if `reversed`.
`unset` is the shadow (see UNSET_SHIFT) of `unset_span` bytes of global memory from `unset_low` on, outside of which all
is set; 0 where nothing can be unset. `origin` says which
kernel this is to those who ask where a heap block comes from.
`output` holds what printf and assert wrote, `heap` the device heap; `envreg` is the address of a cooperative grid's
workspace, its upper half first."""

COPIES = Layout("copies", "count:i32 spare:i32 committed:i32[32] bulk_committed:i32[32]")
"""Head of a warp's queue of copies that have not landed: how many entries, and how many groups each lane has closed."""

COPY = Layout(
    "copy",
    """kind:i32 site:i32 mask:i32 size:i32 group:i32[32] bytes:i32[32] target:i64[32] source:i64[32] barrier:i64[32]
    tensor:i32 corner:i32[5] reduce:i32""",
)
"""One instruction's copies: those of the lanes in `mask` are still to come. `bytes` are the source's, zeros fill up
`size`. Where `tensor` is 1 the copy is a box with the given corner, and its global side is the tensor's map;
`reduce` says how a bulk copy combines with what is there, 0 for not at all."""

GROUPED, ARRIVING, BULK_IN, BULK_OUT = range(4)
"""Values of a copy's `kind`: cp.async, its arrival on a barrier, a bulk copy that a barrier counts, one in a group."""

MAX_COPIES = 64
"""Entries of a queue; when there are more, the first lands early."""

QUEUE_BYTES = COPIES.size + MAX_COPIES * COPY.size

RANKS = 5
"""Most dimensions of a tensor map."""

TENSOR_MAGIC = 0x6D70_4753

TENSOR = Layout(
    "tensor",
    f"""magic:i32 rank:i32 address:i64 stride:i64[{RANKS - 1}] fill:i64 size:i32[{RANKS}] box:i32[{RANKS}] element:i32
    swizzle:i32""",
)
"""A tensor map, 128 bytes as the hardware's: sizes from the dimension that varies fastest, strides in bytes from the
second on; `element` is a size in bytes; `fill` what stands for elements outside; `swizzle` the bits of an offset in
shared memory that are turned by the bits three places above them."""

OUTPUT = Layout("output", "size:i32 kind:i32 block:i64 warp:i32 lane:i32 line:i32 site:i32", align=8)
"""Head of one record of output, `size` with its text. A printf's text is its format with each argument's value behind
the letter that asks for it; an assertion's is expression, file and function, each with its end."""

PRINTED, ASSERTED = 0, 1
"""Values of an output record's `kind`."""

HEAP = Layout(
    "heap",
    """start:i64 size:i64 units:i64 cursor:i64 owner:ptr bytes:ptr lock:i32 failed:i32 allocations:i64 frees:i64
    live:i64 live_bytes:i64 unset:ptr origins:ptr""",
)
"""The device heap: `owner` says for each unit which unit its block starts at (plus 1; 0: none yet), `bytes` at a
block's first unit how long it is (-1 - length once freed). `failed` counts requests that found no room."""

HEAP_UNIT = 32
"""Bytes; a block has at least one unit of its own behind it that belongs to nobody."""

FINDING = Layout(
    "finding",
    "kind:i32 site:i32 warp:i32 lane:i32 ctaid:i32[3] other_site:i32 other_warp:i32 other_lane:i32 address:i64",
    align=8,
)
"""Something wrong that did not stop the launch: a race, a barrier that only part of a warp reached."""

MAX_FINDINGS = 256

RACE = Layout(
    "race",
    """clock:i32 words:i32 shift:i32 warps:i32 floor:i32[32] released:i32[32] fenced:i32[32] seen:i32[1024]
    where:ptr values:ptr size:i32 begin:i32 unset:i32""",
)
"""Head of a block's shadow: vector clocks (`seen[w * 32 + v]`: how far warp w knows of warp v;
`floor[w]`: how far it knows of every warp; `fenced[v]`: up to where warp v's writes are behind a proxy fence), then the
planes. A unit whose last write is before `begin` has not been written by this block; `unset` is 1 where a load met
one. While a plain store is looked at, `where` and `values` are its addresses and elements of `size` bytes."""

LANE_SHADOW = Layout("lanes", "epoch:i32[32]")
"""Head of a block's shadow for races within a warp; two entries for each unit follow (see lowering/runtime/lanes)."""

PLANES = ("written", "writer", "read", "reader", "read_before", "reader_before")
"""i32 per unit of shared memory: clock and who (site << 16 | warp << 8 | lane), last write and two last reads."""

UNSET_SHIFT = 2
"""Global memory's shadow has a byte for each word of 4 bytes: 1 where no byte of the word was ever written."""

ORIGIN = Layout("origin", "origin:i32 site:i32 warp:i32 lane:i32 ctaid:i32[3] spare:i32", align=8)
"""Who allocated a block of the device heap; one for each unit, filled in at a block's first."""

ALLOCATION = Layout("allocation", "start:i64 size:i64", align=16)
"""A live allocation, sorted by start: what a bounds check is made against."""

SITE = Layout("site", "low:i64 limit:i64 span:i64 spare:i64", align=32)
"""Bounds an access last hit: `rotr(address - low, log2 align) < limit` means inside and aligned; limit 0 never hits.

`span` is the most bytes that one of the site's checks covers; `spare` is 1 once an unset read was told of here."""

FAULTS = (
    "none", "out_of_bounds", "misaligned", "stack_overflow", "trap", "deadlock", "timeout", "interrupted",
    "barrier_divergence", "race", "invalid_instruction", "out_of_memory", "assert", "use_after_free", "invalid_free",
    "mbarrier", "tensor_map", "unwaited_copy", "proxy_fence",
    "uninitialised_read", "inactive_lane", "member_mask",
)  # fmt: skip
"""Index = `fault_kind` in a launch record."""

FAULT = {name: index for index, name in enumerate(FAULTS)}
