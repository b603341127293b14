"""Memory layouts shared by Python and the generated machine code: one place says where every field lies."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from gridstride.virtual.abi.finding_kinds import KINDS

LANES = 32
"""Threads in a warp; every vector register has this many elements."""

BARRIERS = 16
"""Named barriers a block owns (PTX: barrier operand `a` is 0–15)."""

_NUMPY = {"i8": "u1", "i32": "u4", "i64": "u8", "ptr": "u8"}
SIZES = {"i8": 1, "i32": 4, "i64": 8, "ptr": 8}
"""Bytes of what a field may hold."""


class Layout:
    """A C-like struct given as `name:type` or `name:type[count]` words; types i8, i32, i64, ptr, and `warp*` for a
    pointer to what the layout of that name describes.
    """

    named: ClassVar[dict[str, Layout]] = {}
    """Every layout by its name."""

    def __init__(self, name: str, fields: str, *, align: int = 64) -> None:
        if name in self.named:
            raise ValueError(f"there is a layout {name!r} already")
        self.name = name
        self.named[name] = self
        self.offset: dict[str, int] = {}
        self.type: dict[str, str] = {}
        self.count: dict[str, int] = {}
        self._target: dict[str, str] = {}
        end = 0
        for field, kind, count in _fields(fields):
            if kind.endswith("*"):
                self._target[field], kind = kind[:-1], "ptr"
            size = SIZES[kind]
            end = -(-end // size) * size
            self.offset[field], self.type[field], self.count[field] = end, kind, count
            end += size * count
        self.size = -(-end // align) * align

    def target(self, field: str) -> Layout | None:
        """What a pointer points to; None for what is no pointer, or one to bytes."""
        return self.named[self._target[field]] if field in self._target else None

    def dtype(self) -> np.dtype[np.void]:
        """The same struct as a NumPy record dtype."""
        return self._dtype

    @functools.cached_property
    def _dtype(self) -> np.dtype[np.void]:
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
    """sp:ptr scheduler:ptr launch:launch* block:block* worker:worker* shared:i64 shared_size:i64 local:i64
    params:ptr sites:site* table:ptr tids:ptr counters:ptr stack_limit:i64
    ctaid:i32[3] warp:i32 tid:i32[3] mask:i32 live:i32 state:i32 site:i32 epoch:i32
    ntid:i32[3] nctaid:i32[3] slot:i32 observed:i32 copies:copies* cluster_arrived:i32 cluster_turn:i32 wgmma:flights*
    errors:errors* split:split* unset:i64 unset_low:i64 unset_span:i64 local_unset:i64 polled:i64 polled_site:i32
     lane_epoch:i32
     wgmma_inside:i32 wgmma_begun:i32 wgmma_made:i32 wgmma_closed:i32 wgmma_marks:i32[8] tries:i32""",
)
"""One warp: a fiber and what its code reads. `tid` is lane 0's; `tids` points at per-lane x, y, z vectors.

`observed` is 1 where the block is counted. A waiting warp is woken when its block's epoch is no longer `epoch`; `site`
is where it last waited. `copies` is its queue of asynchronous copies, `wgmma` its account of wgmma in flight, both null
in the fast build. `cluster_arrived` are the lanes that arrived at the cluster's barrier and have not waited for it yet,
`cluster_turn` the lowest bit of the turn that they came for. `errors` holds each lane's last error of the device
runtime (ERRORS), set by kernels that launch others; `split` is what a group of lanes on a fiber of its own runs
(SPLIT), null for a warp. `unset` and what belongs to it are the launch's, `local_unset` the start of the shadow of its
local memory (a byte for each byte), 0 where reads are not checked. `polled` is where it last looked for what it waits
for; `lane_epoch` counts what brings its lanes together, 0 in a group of lanes, which are not watched.

Of wgmma: whether a batch is open (`wgmma_inside`), how many batches it has `begun` and products it has `made`, how many
groups it has `closed`, and for the last 8 how many products there were by then (`wgmma_marks`).
`tries` counts its mbarrier.try_wait in launches where these may fail."""

WGMMA_WARPS, WGMMA_GROUPS = 4, 8
"""Warps of a warpgroup; groups that a warp keeps account of: wgmma.wait_group leaves at most 7."""

READY, WAITING, SPINNING, DONE = 0, 1, 2, 3
"""Values of a warp's `state`."""

BLOCK = Layout(
    "block",
    f"""warps:warp* shared:i64 ctaid:i32[3] threads:i32 warp_count:i32 finished:i32 active:i32 epoch:i32 cursor:i32
    index:i64 arrived:i32[{BARRIERS}] phases:i32[{BARRIERS + 1}] expected:i32[{BARRIERS}] votes:i32[{BARRIERS}]
    results:i32[{BARRIERS}] members:i32[{BARRIERS}] race:race* cluster:cluster* rank:i32 lanes:lanes*
    warpgroups:i32""",
)
"""One resident block and its barriers. `cursor` is the next warp of the round; `phases` counts completions of each
barrier, `epoch` of all; `votes`/`results` serve `bar.red`; `members` are the warps that arrived; `race` is the block's
shadow of shared memory, null if not observed; `lanes` that of the lanes of each warp, null where that is not watched.
The last of `phases` counts the turns of the cluster's barrier; `cluster` is null where blocks run on their own.
`warpgroups` is 1 once a warp has begun a wgmma: who ends may then be waited for."""

WORKER = Layout(
    "worker",
    """scheduler:ptr launch:launch* blocks:block* warps:warp* stacks:i64 stack_size:i64 shared:i64 shared_stride:i64
    local:i64 local_stride:i64 sites:site* counters:ptr slots:i32 index:i32 race:ptr race_stride:i64 copies:ptr
    row:i64 row_end:i64 clusters:cluster* taken:i64 team_race:ptr team_race_stride:i64 wgmma:ptr
    cache:ptr cache_sets:i64 read_map:i64 write_map:i64 atomic_map:i64 map_low:i64 map_size:i64
    local_unset:i64 lanes:ptr lanes_stride:i64 stall_rounds:i64 stall_since:i64 stall_state:i64 stall_memory:i64
    stall_times:i64""",
)
"""One operating-system thread that runs blocks, `row` to `row_end` of the grid next; it owns the stacks, shared and
local memory of its slots. The last are the observed build's: `cache` has an entry for each line of the L1 that a block
has to itself, in sets; the maps a byte for each sector of global memory from sector `map_low` on, 1 once touched.
Those that begin with `stall` are what stalls.py remembers of rounds in which all warps waited."""

LAUNCH = Layout(
    "launch",
    """entry:ptr params:ptr table:ptr allocations:allocation* allocation_count:i64 tids:ptr
    grid:i32[3] ntid:i32[3] warps_per_block:i32 threads_per_block:i32 blocks:i64 shared_size:i64 local_size:i64
    abort:i32 faulted:i32 fault_kind:i32 fault_site:i32 fault_lane:i32 fault_warp:i32 fault_ctaid:i32[3] fault_size:i32
    fault_address:i64 fault_mask:i32
    fault_space:i32 param_size:i64 shared_stacks:i32 multiprocessors:i32
    findings:finding* finding_count:i32 sample:i32
    output:ptr output_size:i64 output_used:i64 output_lost:i64 heap:heap* envreg:i32[2] launches:queue*
    warps_per_slot:i32 in_a_row:i64 apart:i64[8] next:i64 alone:i64[7] shadow:shadow*
    cluster:i32[3] cluster_size:i32 explicit_cluster:i32 objects:object*
    unset:i64 unset_low:i64 unset_span:i64 origin:i32 lanes_all:i32 lanes_watched:i64[2]
    near_first:i64 near:i64
    block_step:i64 block_first:i64 block_back:i32 warp_step:i32 warp_first:i32 warp_back:i32 warp_inverse:i32
    lanes_back:i32 in_step:i32 alone_on_device:i32 patience:i64 patience_left:i64
     exited:i32 exited_site:i32 exited_size:i32 exited_address:i64""",
)
"""One launch, shared by all workers. `abort` stops every loop at its next back edge; `next` is the next block that no
worker has taken (they take `in_a_row`), on a cache line of its own, for all write it and read the rest.

`output` holds what printf and assert wrote, `heap` the device heap, `launches` the queue of what the kernel launches
itself (null where it launches nothing); `warps_per_slot` counts the records of a slot, those for groups of lanes with;
`envreg` is the address of a cooperative grid's workspace, its upper half first. `cluster_size` is 0 where blocks run on
their own, whatever the clusters are. `objects` is the device's table of texture and surface objects.

The i-th block to start is block (`block_step` · i + `block_first`) mod `blocks`, counted from the last one where
`block_back` is 1 (of clusters, the same); the warps of a block take turns likewise, and `warp_inverse` leads back from
a warp's number to its turn. Where `lanes_back` is 1 the lanes of a warp do an atomic in reverse, and what else PTX
leaves open is done the other way (Schedule); where `in_step` is 1 every warp lets all others come as far behind each
access that may order something; loops that may give up waiting go on for `patience_left` of their `patience` rounds
before anybody else has a turn. Where `alone_on_device` is 1 one worker runs all blocks and the kernel
reads no clock: if nothing changes, nothing ever will (stalls.py). Every `sample`-th block is observed (none where that
is 0), and `near` blocks from `near_first` on (of clusters, the same). Races within a warp are looked for in those of
`lanes_watched`, or in all observed ones where `lanes_all` is 1. `exited` is 1 once the fast build has let an access go
through to shared memory of a block that had ended, and the others say which.
`unset` is the shadow (see UNSET_SHIFT) of `unset_span` bytes of global memory from `unset_low` on, outside of which all
is set; 0 where nothing can be unset. `origin` says which kernel this is to those who ask where a heap block comes from.
"""

MOST_BLOCKS_IN_CLUSTER = 16
"""With the kernel's consent; 8 without."""

RANK_SHIFT = 24
"""Shared memory of a cluster's blocks lies this power of two apart. The same bits of a `shared::cluster` address hold
the block's rank plus 1, or 0 for the block's own."""

CLUSTER = Layout(
    "cluster",
    """blocks:block* shared:i64 size:i32 active:i32 threads:i32 arrived:i32 turn:i32 ended:i32 index:i32[3] id:i64
    race:cluster_race*""",
)
"""A cluster whose blocks are resident, in consecutive slots of one worker: `blocks` and `shared` are those of rank 0.
`threads` have not ended yet, `arrived` have come to the cluster's barrier in its `turn`; `ended` is a mask of ranks;
`index` is %clusterid. `race` is the shadow of all its shared memory, null if not observed."""

COPIES = Layout("copies", "count:i32 unfinished:i32 committed:i32[32] bulk_committed:i32[32]")
"""Head of a warp's queue of copies that have not landed: how many entries, and how many groups each lane has closed.
`unfinished` is the latest stamp of bulk stores whose source alone was waited for (0: none); events chain the others."""

COPY = Layout(
    "copy",
    """kind:i32 site:i32 mask:i32 size:i32 group:i32[32] bytes:i32[32] target:i64[32] source:i64[32] barrier:i64[32]
    tensor:i32 reduce:i32 corner:i64[5] known:i32[16]""",
)
"""One instruction's copies: those of the lanes in `mask` are still to come. `bytes` are the source's, zeros fill up
`size`. Where `tensor` is BOX the copy is a box with the given corner, and its global side is the tensor's map; where it
is IMMEDIATE `source` holds the value that is stored. `reduce` says how a bulk copy combines with what is there, 0 for
not at all; `known` what the block knew of its cluster when it started it."""

PLACE, BOX, IMMEDIATE = range(3)
"""Values of a copy's `tensor`."""

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
    f"""magic:i32 rank:i32 address:i64 stride:i64[{RANKS - 1}] size:i32[{RANKS}] box:i32[{RANKS}] element:i32
    swizzle:i32 nan:i32 corner:i32[{RANKS - 2}] interleave:i8 im2col:i8 step:i8[{RANKS}]""",
)
"""A tensor map, 128 bytes as the hardware's: sizes from the dimension that varies fastest, strides in bytes from the
second on; `element` is the number that tensormap.replace gives an element's type; `swizzle` the bits of an offset in
shared memory that are turned by the bits three places above them; `nan` is 1 where elements outside are NaN;
`interleave` the bytes of a slice of channels, 0 for none; `step` the element strides less one. Where `im2col` is 1
`box` holds channels and pixels, `corner` the box of the image, lower corners in the lower halves."""

ELEMENTS = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
"""Bytes of an element by the number of its type (PTX ISA, tensormap.replace: u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64
bf16 tf32 tf32.ftz)."""

ROUNDED_TYPES = 11
"""The first type whose elements are rounded as they are copied in."""

FLIGHTS = Layout("flights", f"count:i32 closed:i32 done:i32 fences:i32 issued:i32 last:i32 stamps:i32[{WGMMA_GROUPS}]")
"""Head of a warp's account of wgmma in flight: entries, groups closed and groups waited for, fences so far, how many
wgmma it has executed and the last one's site; the warp's clock in the race detector as it closed each of the last
groups."""

FLIGHT = Layout("flight", "site:i32 group:i32 low:i32 high:i32 word:i64[2] turned:i32[2] groups:i32[2] chunks:i32[2]")
"""One wgmma that reads shared memory from `low` to `high`: descriptors of A and B and their extent (`groups` 0: not in
shared memory); `group` is the number of the group it is in, the first being 1."""

LEAVING, BASE, STRIDE, LEADING = range(1, 5)
"""What may be wrong with a descriptor: a row that leaves its pattern, a base offset, a stride or leading offset."""

MAX_FLIGHTS = 64
"""Entries of an account; when there are more, the first is taken for complete."""

FLIGHT_BYTES = FLIGHTS.size + MAX_FLIGHTS * FLIGHT.size

OUTPUT = Layout("output", "size:i32 kind:i32 block:i64 warp:i32 lane:i32 line:i32 site:i32", align=8)
"""Head of one record of output, `size` with its text. A printf's text is its format with each argument's value behind
the letter that asks for it; an assertion's is expression, file and function, each with its end."""

PRINTED, ASSERTED = 0, 1
"""Values of an output record's `kind`."""

HEAP = Layout(
    "heap",
    """start:i64 size:i64 units:i64 cursor:i64 owner:ptr bytes:ptr lock:i32 failed:i32 allocations:i64 frees:i64
    live:i64 live_bytes:i64 asked:i64 unset:ptr origins:origin* no_room:i64""",
)
"""The device heap: `owner` says for each unit which unit its block starts at (plus 1; 0: none yet), `bytes` at a
block's first unit how long it is (-1 - length once freed). `failed` counts requests that found no room, `asked` are the
bytes of the others. `no_room`: the fewest units that were looked for in vain since something was freed, 0 for none."""

HARDWARE_STACK = 1 << 10
"""Bytes of stack that a thread has for recursive calls: cudaLimitStackSize, unless told otherwise."""

HEAP_UNIT = 32
"""Bytes; a block has at least one unit of its own behind it that belongs to nobody."""

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

RACE = Layout(
    "race",
    """clock:i32 words:i32 shift:i32 warps:i32 floor:i32[32] released:i32[32] fenced:i32[32] seen:i32[1024]
    where:ptr values:ptr size:i32 first:i32 pending:i32 released_at:i32 shadow:shadow* block:i64
    acquired:i32[32] current:i32[32] unset:i32 storing:i32 storing_bytes:i32 fenced_stamps:i32""",
)
"""Head of a block's shadow: vector clocks (`seen[w * 32 + v]`: how far warp w knows of warp v;
`floor[w]`: how far it knows of every warp; `fenced[v]`: up to where warp v's writes are behind a proxy fence), then the
planes. While a plain store is looked at, `where` and `values` are its addresses and elements of `size` bytes,
and `storing` the lanes that store `storing_bytes` each.

For races between blocks (SHADOW): the block's linear index and `first` stamp, the latest of its stamps that no fence
is behind yet (`pending`) and of those that are not published for all that (`fenced_stamps`), each warp's `current`
stamp, and when it last acquired what other blocks have published (`released_at`: for all).

A unit whose last write is before stamp `first` - 1 has not been written by this block; `unset` is 1 where a load met
one."""

LANE_SHADOW = Layout(
    "lanes", "epoch:i32[32] met:i32[32] known:i32[32768] released:i32[1024] before:i32[1024] knowing:i32[32]"
)
"""Head of a block's shadow for races within a warp; two entries for each unit follow (see
runtime/sanitize/shared_lane_races). By warp: the epoch now, the last one at whose end all lanes met, and for each lane
32 numbers: up to which epoch it knows what each lane did. The others are for those that wait at an mbarrier
(runtime/sanitize/lane_orders): `released[w * 32 + l]` is up to which epoch others may know what lane l of warp w did,
`before[w * 32 + v]` the epoch of warp v up to which all lanes of warp w know, `knowing` which ones know more."""

PLANES = ("written", "writer", "read", "reader", "read_before", "reader_before")
"""i32 per unit of shared memory: clock and who (site << 16 | warp << 8 | lane), last write and two last reads."""

UNSET_SHIFT = 2
"""Global memory's shadow has a byte for each word of 4 bytes: 1 where no byte of the word was ever written."""

ORIGIN = Layout("origin", "origin:i32 site:i32 warp:i32 lane:i32 ctaid:i32[3] spare:i32", align=8)
"""Who allocated a block of the device heap; one for each unit, filled in at a block's first."""
SHADOW = Layout(
    "shadow",
    """clock:i32 alone:i32[31] base:i32 shift:i32 start:i64 units:i64 written:ptr read:ptr read_before:ptr
    events:event* event_limit:i32 spare:i32 pairs:pair*""",
)
"""The shadow of global memory: `start` is the address of the first of its `units` units of 1 << `shift` bytes. `clock`
gives stamps, which never come twice; those of this launch are `base` and later. An entry of a plane is stamp << 32 |
site << 14 | epoch << 8 | several << 7 | strength << 5 | lane of an access, 0 for none: last write, last read, last read
of an earlier block. `epoch` is the warp's between two moments that bring its lanes together (global_lane_races.py), 0
where its lanes are not held against one another; `several` is 1 where other lanes read the unit in the same epoch.
"""

SITE_BIT, EPOCH_BIT, SEVERAL_BIT, STRENGTH_BIT = 14, 8, 7, 5
MOST_EPOCHS = (1 << SITE_BIT - EPOCH_BIT) - 1
GENERIC_WRITE = 1 << SEVERAL_BIT
"""Of a write whose `epoch` is 0 this bit is clear where an asynchronous copy wrote: others need a proxy fence before
one reads it."""

LANED = 1 << 2
"""Beside the strength of an access: it is held against those of other lanes of its warp."""

SHADOW_PLANES = ("written", "read", "read_before")

PLAIN, BLOCK_STRONG, STRONG, CHECKED = range(4)
"""Strength of an access: not at all, within its block, everywhere. Two that are strong for one another do not race.

CHECKED: strong everywhere, and of a kind that looks at the value itself (cas, min, max, and, or). Searches, hash tables
and relaxations read such words plainly first, to save the atomic, and an old value does no harm: those are no races.
"""

NON_COHERENT = CHECKED
"""Of a load: through the read-only path, which no order reaches: whatever writes there in the same launch is a finding.
Loads are never CHECKED."""

EVENT = Layout("event", "who:i64 published:i32 fenced:i32 next:i32", align=8)
"""Entry stamp - `base` of the table of events: block << 5 | warp that works under the stamp, the clock when what it had
done was published, and when a fence came behind it (0: not yet), and the stamp before in its block's list."""

PAIR = Layout("pair", "key:i64 count:i64", align=16)
"""How many findings of one kind there were between two sites: kind << 56 | site << 28 | other site."""

PAIRS = 256
"""Entries, a power of two; of findings between more pairs of sites only the first are told."""

CLUSTER_OBJECTS = 256
"""Places for mbarriers in a cluster's shadow; with more, all order all."""

CLUSTER_RACE = Layout(
    "cluster_race",
    f"""clock:i32 units:i32 each:i32 shift:i32 waiting:i32 start:i32 told:i32 released:i32[{MOST_BLOCKS_IN_CLUSTER}]
    arriving:i32[{MOST_BLOCKS_IN_CLUSTER}] opened:i32[{MOST_BLOCKS_IN_CLUSTER}] seen:i32[{MOST_BLOCKS_IN_CLUSTER**2}]
    touched:i32[{MOST_BLOCKS_IN_CLUSTER**2}] toucher:i32[{MOST_BLOCKS_IN_CLUSTER**2}]
    objects:i64[{CLUSTER_OBJECTS}] given:i32[{CLUSTER_OBJECTS * 2 * MOST_BLOCKS_IN_CLUSTER}]""",
)
"""Head of a cluster's shadow: vector clocks of its blocks, what arrivals at its barrier gave (in this turn, in the one
that opened last), the ranks that are held there, when block q last used block r's memory (`touched[r * 16 + q]`) and
which thread, then the planes, with `each` of the `units` for a block. Clocks begin at `start`; `told` are the ranks
that have been told that they came too early. `objects` are addresses of mbarriers (0: none), `given` their clocks:
of the arrivals, and of those up to the end of the last phase."""

CLUSTER_PLANES = ("written", "writer", "read", "reader", "read_before", "reader_before", "changed", "changer")
"""i32 per unit: clock and who (site << 16 | rank << 10 | warp << 5 | lane) of the last write, two reads and atomic."""

ALLOCATION = Layout("allocation", "start:i64 size:i64", align=16)
"""A live allocation, sorted by start: what a bounds check is made against."""

SITE = Layout("site", "low:i64 limit:i64 span:i64 spare:i64", align=32)
"""Bounds an access last hit: `rotr(address - low, log2 align) < limit` means inside and aligned; limit 0 never hits.

`span` is the most bytes that one of the site's checks covers; `spare` is 1 once an unset read was told of here."""

FAULTS = ("none", *KINDS)
"""Index = `fault_kind` in a launch record, `kind` in one of the observed build's."""

FAULT = {name: index for index, name in enumerate(FAULTS)}

OBJECT_SLOTS = 1 << 16
"""Texture and surface objects that a device can have at a time; a handle's lowest bits are its slot."""

TEXTURE_TAG, SURFACE_TAG = 0x7478, 0x7366
"""The highest 16 bits of a handle. Between them and the slot it counts how often the slot was given out before."""

MOST_LEVELS = 18

OBJECT = Layout(
    "object",
    f"""handle:i64 format:i32 channels:i32 width:i32 height:i32 depth:i32 layers:i32 cubemap:i32 linear:i32 shape:i32
    levels:i32 filter:i32 mip_filter:i32 normalized:i32 floats:i32 srgb:i32 address:i32[3] border:i32[4] bias:i32
    low:i32 high:i32 texel:i32 pitch:i64 level:i64[{MOST_LEVELS}]""",
)
"""A texture or surface object: texels of `texel` bytes at `level[0]` and so on, rows `pitch` bytes apart on level 0.
Sizes are 0 where there is no such dimension; `shape` says the same in the words of sampling.py. `floats`:
integers are read as normalised floats; `border` is as the registers get it; `bias` and the range of levels in 1/256."""

FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
ADDRESS_MODES = ("clamp", "wrap", "mirror", "border")
"""Index = the number in an object's record."""

OBJECT_FAULTS = ("none", "unknown", "other_kind", "geometry", "form", "outside", "misaligned")
"""Index = lowest byte of `fault_space` for texture and surface faults; above it is the object's slot."""

QUEUE = Layout(
    "queue",
    """count:i32 limit:i32 order:i32 streams:i32 failures:i32 names:i32 pool:i64 stride:i64 end:i64 records:pending*
    functions:callable* function_count:i64 attributes:ptr attribute_count:i64 strings:ptr failed:failure*
    shared_limit:i64 grid_limit:i64[3] block_limit:i64[3] binary:i32""",
)
"""What a grid launches: `count` records of at most `limit` taken, `order` counts what was given to streams, `pool`
holds `stride` bytes of parameters for each record. `strings` are addresses of the names, then of the texts, of `names`
errors; `binary` is the chip's capability, 90 for 9.0."""

PENDING = Layout(
    "pending",
    """kind:i32 state:i32 function:i64 grid:i32[3] block:i32[3] shared:i32 site:i32 stream:i64 order:i32 warp:i32
    lane:i32 value:i32 index:i64 target:i64 source:i64 bytes:i64""",
)
"""One launch, copy or fill that a thread gave to a stream; `index`, `warp`, `lane` and `site` say who did, where."""

FAILURE = Layout("failure", "code:i32 seen:i32 site:i32 warp:i32 lane:i32 spare:i32 index:i64 function:i64", align=8)
"""An error of the device runtime; `seen` once the thread asked for it."""

KERNEL, COPY_OP, FILL_OP = range(3)
"""Values of a pending record's `kind`."""
TAKEN, QUEUED = 1, 2
"""Values of its `state`: has a parameter buffer; given to a stream."""

CALLABLE = Layout("callable", "entry:i32 threads:i32 shared:i32 params:i32 local:i32 registers:i32", align=8)
"""What the device runtime knows of each function by number: whether it is a kernel, and its limits and sizes."""

ERRORS = Layout("errors", "code:i32[32] failure:i32[32]")
"""Each lane's last error, and which record of failures it has there (0: none, else its number plus 1)."""

MAX_FAILURES = 64
STREAM_BASE = 0x5354_0000_0000
"""Handles of streams made on the device are STREAM_BASE + 16 · number; below are those that CUDA names."""
EVENT_BASE = 0x4556_0000_0000

MAX_SPLIT_AREAS = 112
SPLIT = Layout("split", f"entry:ptr parent:warp* away:ptr back:ptr mask:i32 frame:i32 areas:ptr[{MAX_SPLIT_AREAS}]")
"""A call on a fiber of its own: what to run for the lanes of `mask`, and where its caller keeps which lanes are away
and which have come back."""
SPLIT_BYTES = -(-SPLIT.size // 64) * 64
MOST_GROUPS = 248
"""Groups of lanes of a block that may be inside waiting functions at a time, each with a stack of its own."""
