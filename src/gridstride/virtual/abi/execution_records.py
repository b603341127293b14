"""Records of what runs: warps, blocks, clusters, the workers that run them and the launch."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import BARRIERS, LANES
from gridstride.virtual.abi.layout import Layout

WARP = Layout(
    "warp",
    """sp:ptr scheduler:ptr launch:launch* block:block* worker:worker* shared:i64 shared_size:i64 local:i64
    params:ptr sites:site* table:ptr tids:ptr counters:ptr stack_limit:i64
    ctaid:i32[3] warp:i32 tid:i32[3] mask:i32 live:i32 state:i32 site:i32 epoch:i32
    ntid:i32[3] nctaid:i32[3] slot:i32 observed:i32 copies:copies* cluster_arrived:i32 cluster_turn:i32 wgmma:flights*
    errors:errors* split:split* unset:i64 unset_low:i64 unset_span:i64 local_unset:i64 polled:i64 polled_site:i32
     lane_epoch:i32
     wgmma_inside:i32 wgmma_begun:i32 wgmma_made:i32 wgmma_closed:i32 wgmma_marks:i32[8] tries:i32
     fenced_epoch:i32 fenced_since:i32 lanes_gave:i32""",
)
"""One warp: a fiber and what its code reads. `tid` is lane 0's; `tids` points at per-lane x, y, z vectors.

`observed` is 1 where the block is counted. A waiting warp is woken when its block's epoch is no longer `epoch`; `site`
is where it last waited. `copies` is its queue of asynchronous copies, `wgmma` its account of wgmma in flight, both null
in the fast build. `cluster_arrived` are the lanes that arrived at the cluster's barrier and have not waited for it yet,
`cluster_turn` the lowest bit of the turn that they came for. `errors` holds each lane's last error of the device
runtime (ERRORS), set by kernels that launch others; `split` is what a group of lanes on a fiber of its own runs
(SPLIT), null for a warp. `unset` and what belongs to it are the launch's, `local_unset` the start of the shadow of its
local memory (a byte for each byte), 0 where reads are not checked. `polled` is where it last looked for what it waits
for; `lane_epoch` counts what brings its lanes together, 0 in a group of lanes, which are not watched. `fenced_epoch` is
the epoch of its first fence since its lanes met, `fenced_since` its stamp then: what it did since has other stamps.
Of `lanes_gave` bit 0 is 1 where one of its lanes has done an atomic since they met, without reading what it gives, bit
1 where one has stored something volatile behind a fence.

Of wgmma: whether a batch is open (`wgmma_inside`), how many batches it has `begun` and products it has `made`, how many
groups it has `closed`, and for the last 8 how many products there were by then (`wgmma_marks`).
`tries` counts its mbarrier.try_wait in launches where these may fail."""

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

CLUSTER = Layout(
    "cluster",
    """blocks:block* shared:i64 size:i32 active:i32 threads:i32 arrived:i32 turn:i32 ended:i32 index:i32[3] id:i64
    race:cluster_race*""",
)
"""A cluster whose blocks are resident, in consecutive slots of one worker: `blocks` and `shared` are those of rank 0.
`threads` have not ended yet, `arrived` have come to the cluster's barrier in its `turn`; `ended` is a mask of ranks;
`index` is %clusterid. `race` is the shadow of all its shared memory, null if not observed."""

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
    warps_per_slot:i32 in_a_row:i64 padding_before:i64[8] next:i64 padding_after:i64[7] shadow:shadow*
    cluster:i32[3] cluster_size:i32 explicit_cluster:i32 objects:object*
    unset:i64 unset_low:i64 unset_span:i64 origin:i32 lanes_all:i32 lanes_watched:i64[2]
    near_first:i64 near:i64
    block_step:i64 block_first:i64 block_back:i32 warp_step:i32 warp_first:i32 warp_back:i32 warp_inverse:i32
    lanes_back:i32 in_step:i32 alone_on_device:i32 patience:i64 patience_left:i64
     exited:i32 exited_site:i32 exited_size:i32 exited_address:i64
     sm_numbers:ptr sm_of_worker:i32 sm_span:i32 stack:i64""",
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
is set; 0 where nothing can be unset. A block's %smid is the one of `sm_numbers` that worker · `sm_of_worker` + block
mod `sm_span` says. `stack` are the bytes that recursive calls of a thread may take, which the observed build looks at.
`origin` says which kernel this is to those who ask where a heap block comes from.
"""

TID_RECORD = 4 * LANES * 4
"""Bytes per warp in the table that `LAUNCH.tids` points at: x, y and z of every lane, then the mask of lanes."""

IN_LOOPS = 1
"""The fault's `space`, which tells this deadlock from one at barriers."""

MAX_SPLIT_AREAS = 112
SPLIT = Layout("split", f"entry:ptr parent:warp* away:ptr back:ptr mask:i32 frame:i32 areas:ptr[{MAX_SPLIT_AREAS}]")
"""A call on a fiber of its own: what to run for the lanes of `mask`, and where its caller keeps which lanes are away
and which have come back."""

SPLIT_BYTES = -(-SPLIT.size // 64) * 64
MOST_GROUPS = 248
"""Groups of lanes of a block that may be inside waiting functions at a time, each with a stack of its own."""
