"""The runtime's multicast: a bulk or tensor copy to the same offset in several blocks of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, OFFSET_MASK, RANK_SHIFT
from gridstride.virtual.abi.hardware_limits import MOST_BLOCKS_IN_CLUSTER
from gridstride.virtual.ir.builder import Builder, IrModule, Value, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.memory.printf_records import row


def emit_multicast(m: IrModule) -> None:
    """gs_bulk_multicast and gs_tensor_multicast: as gs_bulk and gs_tensor, with a mask of ranks for each lane."""
    head = ("warp* warp", "i32 to", "i32 from", "i32 mask", "ptr targets", "ptr sources", "ptr counts", "ptr barriers",
            "i32 to_space", "i32 from_space", "i32 reduce", "ptr ranks")  # fmt: skip
    with m.function("void", "gs_bulk_multicast", *head) as (b, args):
        warp, to, origin, mask, targets, sources, counts, barriers, _, from_space, reduce, ranks = args
        with _each_target_block(b, mask, ranks, targets, barriers) as (lanes, (mapped, counted)):
            space = i32(CLUSTER_SPACE)
            b.call("void", "gs_bulk", warp, to, origin, lanes, mapped, sources, counts, counted, space, from_space,
                   reduce)  # fmt: skip
    tensor = ("warp* warp", "i32 site", "i32 mask", "i32 rank", "ptr places", "ptr maps", "ptr barriers", "ptr corners",
              "ptr ranks")  # fmt: skip
    with m.function("void", "gs_tensor_multicast", *tensor) as (b, args):
        warp, site, mask, rank, addresses, maps, barriers, corners, ranks = args
        with _each_target_block(b, mask, ranks, addresses, barriers) as (lanes, (mapped, counted)):
            b.call("void", "gs_tensor", warp, site, lanes, rank, mapped, maps, counted, corners)


@contextmanager
def _each_target_block(b: Builder, mask: Value, ranks: Value, *columns: Value) -> Iterator[tuple[Value, list[Value]]]:
    """Runs its body for each rank that some lane names, with those lanes and the columns as addresses there."""
    at, lanes = b.alloca("i32"), b.alloca("i32")
    moved = [b.alloca(wide("i64"), align=64) for _ in columns]
    b.store(i32(0), at)
    with b.loop() as done:
        rank = b.load("i32", at)
        b.break_if(rank >= MOST_BLOCKS_IN_CLUSTER, done)
        b.store(rank + 1, at)
        b.store(i32(0), lanes)
        first = b.resize(rank + 1, "i64") << RANK_SHIFT
        with b.lanes(mask) as lane:
            chosen = b.resize(b.load("i64", row(b, ranks, lane, 8)) >> b.resize(rank, "i64"), "i32")
            bit = (chosen & 1) << lane
            b.store(b.load("i32", lanes) | bit, lanes)
            for column, to in zip(columns, moved, strict=True):
                offset = b.load("i64", row(b, column, lane, 8)) & OFFSET_MASK
                b.store(offset | first, row(b, to, lane, 8))
        group = b.load("i32", lanes)
        with b.if_(group != 0):
            yield group, moved
