"""Shadows of memory in which races are looked for: who touched each unit last, and the clocks that order accesses."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import MOST_BLOCKS_IN_CLUSTER
from gridstride.virtual.abi.layout import Layout

PHASE_OBJECTS = 32
"""Places for mbarriers in a block's shadow; with more, the others share one clock."""

RACE = Layout(
    "race",
    f"""clock:i32 words:i32 shift:i32 warps:i32 floor:i32[32] released:i32[32] fenced:i32[32] seen:i32[1024]
    where:ptr values:ptr size:i32 first:i32 pending:i32 released_at:i32 shadow:shadow* block:i64
    acquired:i32[32] current:i32[32] unset:i32 storing:i32 storing_bytes:i32 fenced_stamps:i32
    met:i32[32] given:i32[1024]
    phase_count:i32 phase_objects:i64[{PHASE_OBJECTS}] phase_clocks:i32[{2 * 32 * PHASE_OBJECTS}]""",
)
"""Head of a block's shadow: vector clocks (`seen[w * 32 + v]`: how far warp w knows of warp v;
`floor[w]`: how far it knows of every warp; `fenced[v]`: up to where warp v's writes are behind a proxy fence), then the
planes. While a plain store is looked at, `where` and `values` are its addresses and elements of `size` bytes,
and `storing` the lanes that store `storing_bytes` each.

For races between blocks (SHADOW): the block's linear index and `first` stamp, the latest of its stamps that no fence
is behind yet (`pending`) and of those that are not published for all that (`fenced_stamps`), each warp's `current`
stamp, and when it last acquired what other blocks have published (`released_at`: for all). `met` is the stamp
under which all lanes of a warp met last, `given[w * 32 + l]` that under which lane l of warp w last told others of what
it had done.

`phase_objects` are addresses of the block's `phase_count` mbarriers, `phase_clocks` two clocks for each: what arrivals
gave, and what they had given when the last phase ended.

A unit whose last write is before stamp `first` - 1 has not been written by this block; `unset` is 1 where a load met
one."""

PLANES = ("written", "writer", "read", "reader", "read_before", "reader_before")
"""i32 per unit of shared memory: clock and who (site << 16 | warp << 8 | lane), last write and two last reads."""

ATOMIC, VOLATILE = 1 << 13, 1 << 14
"""Bits of who made an access to shared memory, beside site, warp and lane."""
SEVERAL, COMPARED, COPIED = 0x80, 0x40, 0x20
"""Beside a lane: others of its warp have read the unit in the same epoch, or done an atomic there. Or it has started a
copy that somebody waited for at an mbarrier, which all know of but those for whom another lane of their warp waits.

COMPARED: it has done an atomic that looks at the value itself. Plain accesses of the same warp go past it, for such
words are often read first, to save the atomic; loads that have this bit themselves do not (analysis/settled_reads).
"""

LANE_SHADOW = Layout(
    "lanes",
    "epoch:i32[32] met:i32[32] gathered:i32[32] known:i32[32768] released:i32[1024] before:i32[1024] knowing:i32[32] "
    "given:i32[1024] fenced:i32[1024] told:i32[1024] begun:i32[32]",
)
"""Head of a block's shadow for races within a warp; two entries for each unit follow (see
runtime/sanitize/shared_lane_races). By warp: the epoch now, the last one at whose end all lanes met, the last one at
whose end they at least were at one instruction, and for each lane 32 numbers: up to which epoch it knows what each did.
The others are for those that wait at an mbarrier (runtime/sanitize/lane_orders): `released[w * 32 + l]` is up to which
epoch others may know what lane l of warp w did, `before[w * 32 + v]` the epoch of warp v up to which all lanes of warp
w know, `knowing` which ones know more. `given[w * 32 + l]` is up to which epoch lanes of warp w know from atomics what
lane l of it did (runtime/sanitize/lane_atomics), `told[w * 32 + l]` the same of those who poll what lane l stored
behind a fence, the last of which was in epoch `fenced[w * 32 + l]`; `begun` is the last epoch before the block's."""

SHADOW = Layout(
    "shadow",
    """clock:i32 padding:i32[31] base:i32 shift:i32 start:i64 units:i64 written:ptr read:ptr read_before:ptr
    events:event* event_limit:i32 spare:i32 pairs:pair*""",
)
"""The shadow of global memory: `start` is the address of the first of its `units` units of 1 << `shift` bytes. `clock`
gives stamps, which never come twice; those of this launch are `base` and later. An entry of a plane is stamp << 32 |
site << 15 | epoch << 9 | atomic << 8 | several << 7 | strength << 5 | lane of an access, 0 for none: last write, last
read, last read of an earlier block. `epoch` is the warp's between two moments that bring its lanes together
(global_lane_races.py), 0 where its lanes are not held against one another; `several` is 1 where other lanes read the
unit in the same epoch, or did the same atomic; `atomic` is 1 of an atomic.
"""

SHADOW_PLANES = ("written", "read", "read_before")
SITE_BIT, EPOCH_BIT, ATOMIC_BIT, SEVERAL_BIT, STRENGTH_BIT = 15, 9, 8, 7, 5
MOST_EPOCHS = (1 << SITE_BIT - EPOCH_BIT) - 1
GENERIC_WRITE = 1 << SEVERAL_BIT
"""Of a write whose `epoch` is 0 this bit is clear where an asynchronous copy wrote: others need a proxy fence before
one reads it."""

PLAIN, BLOCK_STRONG, STRONG, CHECKED = range(4)
"""Strength of an access: not at all, within its block, everywhere. Two that are strong for one another do not race.

CHECKED: strong everywhere, and of a kind that looks at the value itself (cas, min, max, and, or). Searches, hash tables
and relaxations read such words plainly first, to save the atomic, and an old value does no harm: those are no races.
"""

NON_COHERENT = CHECKED
"""Of a load: through the read-only path, which no order reaches: whatever writes there in the same launch is a finding.
Loads are never CHECKED."""

LANED = 1 << 2
"""Beside the strength of an access: it is held against those of other lanes of its warp."""

OF_ATOMIC = 1 << 3
"""Beside that: it is an atomic, which among lanes races with plain accesses alone."""

UNWATCHED = 0xFF
"""Instead of how strong an access is: races are looked for elsewhere."""

EVENT = Layout("event", "who:i64 published:i32 fenced:i32 next:i32 lanes:i32 epoch:i32", align=8)
"""Entry stamp - `base` of the table of events: block << 5 | warp that works under the stamp, the clock when what it had
done was published, and when a fence came behind it (0: not yet), and the stamp before in its block's list. `lanes` have
written plainly in global memory under it since they last met, which was at the end of `epoch`, and not told of it."""

CLUSTER_OBJECTS = 256
"""Places for mbarriers in a cluster's shadow; with more, all order all."""

CLUSTER_RACE = Layout(
    "cluster_race",
    f"""clock:i32 units:i32 units_per_block:i32 shift:i32 waiting:i32 start:i32 reported:i32
    released:i32[{MOST_BLOCKS_IN_CLUSTER}] arriving:i32[{MOST_BLOCKS_IN_CLUSTER}] opened:i32[{MOST_BLOCKS_IN_CLUSTER}]
    seen:i32[{MOST_BLOCKS_IN_CLUSTER**2}] touched:i32[{MOST_BLOCKS_IN_CLUSTER**2}]
    toucher:i32[{MOST_BLOCKS_IN_CLUSTER**2}]
    objects:i64[{CLUSTER_OBJECTS}] given:i32[{CLUSTER_OBJECTS * 2 * MOST_BLOCKS_IN_CLUSTER}]""",
)
"""Head of a cluster's shadow: vector clocks of its blocks, what arrivals at its barrier gave (in this turn, in the one
that opened last), the ranks that are held there, when block q last used block r's memory (`touched[r * 16 + q]`) and
which thread, then the planes, with `units_per_block` of the `units` for a block. Clocks begin at `start`; `reported` is
a mask of the ranks of which a finding says that they came too early. `objects` are addresses of mbarriers (0: none),
`given` their clocks: of the arrivals, and of those up to the end of the last phase."""

CLUSTER_PLANES = ("written", "writer", "read", "reader", "read_before", "reader_before", "changed", "changer")
"""i32 per unit: clock and who (site << 16 | rank << 10 | warp << 5 | lane) of the last write, two reads and atomic."""
