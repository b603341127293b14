"""The four warps of a warpgroup around wgmma, in both builds: they begin together, and a group is complete for all.

Here each warp makes its own rows of a product, when it gets there. The hardware makes a product for the whole
warpgroup: it begins when the last warp has come, and a wait for it returns in any warp only when it is made in all. A
kernel may build on that, as Triton does: after its wait, a warp overwrites operands that the other three have read by
then, with no barrier. (Seen on an H200: one warp that rewrites B after each wait, in 40 of 40 runs.)

A warp that has ended is not waited for; one that never comes ends in a deadlock, which is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.execution_records import DONE, READY, WARP
from gridstride.virtual.abi.wgmma_flights import WGMMA_GROUPS, WGMMA_WARPS
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant
from gridstride.virtual.runtime.common import i32, increment, warp_numbered
from gridstride.virtual.runtime.copies.matrix_descriptors import counted
from gridstride.virtual.runtime.sanitize.clocks import entry


def emit_warpgroups(m: IrModule) -> None:
    """gs_warpgroup_begin, gs_warpgroup_made, gs_warpgroup_apart, gs_warpgroup_commit, gs_warpgroup_wait."""
    _any_warp_behind(m)
    _begin(m)
    _groups(m)
    _wait(m)


@contextmanager
def others(b: Builder, warp: Record) -> Iterator[Record]:
    """Runs its body for each warp of the warpgroup, itself included."""
    block, own = warp.block, warp.warp
    first = own & -WGMMA_WARPS
    warps_left = block.warp_count - first
    with counted(b, b.intrinsic("umin", warps_left, i32(WGMMA_WARPS))) as index:
        yield warp_numbered(b, block, first + index)


def _any_warp_behind(m: IrModule) -> None:
    """Whether some warp of the warpgroup still has to come to its `count`-th batch (`what` 0), or product (1)."""
    with m.function("i1", "gs_warpgroup_behind", "warp* warp", "i32 what", "i32 count") as (b, (warp, what, count)):
        begun = what == 0
        with others(b, warp) as other:
            has = b.select(begun, *(b.get(other, WARP, f"wgmma_{n}") for n in ("begun", "made")))
            over = other.state == DONE
            late = (has < count) & ~over
            with b.if_(late):
                b.ret(constant("i1", True))
        b.ret(constant("i1", False))


def _hold(b: Builder, warp: Record, site: Value, what: int, count: Value) -> None:
    """Lets other warps run until none of the warpgroup is behind.

    In the observed build the last one to come lets the others go on first: what it did not wait for at a barrier, it is
    then found to use too early.
    """
    last = ~b.call("i1", "gs_warpgroup_behind", warp, i32(what), count)
    yields = last & (warp.observed != 0)
    with b.if_(yields):
        warp.site = site
        b.call("void", "gs_yield", warp, i32(READY))
    with b.loop() as done:
        late = b.call("i1", "gs_warpgroup_behind", warp, i32(what), count)
        b.break_if(~late, done)
        warp.site = site
        b.call("void", "gs_wait_any", warp)


def _wake(b: Builder, warp: Record) -> None:
    increment(b, warp.block.field("epoch"))


def _begin(m: IrModule) -> None:
    """gs_warpgroup_begin: ahead of a wgmma; the first of a batch waits for the other warps. Products of one batch have
    nothing between them that could matter to another warp. gs_warpgroup_made: after it.
    """
    with m.function("void", "gs_warpgroup_begin", "warp* warp", "i32 site") as (b, (warp, site)):
        with b.if_(warp.wgmma_inside != 0, likely=True):
            b.ret()
        warp.wgmma_inside = 1
        warp.block.warpgroups = 1
        increment(b, warp.field("wgmma_begun"))
        _wake(b, warp)
        _hold(b, warp, site, 0, warp.wgmma_begun)
    with m.function("void", "gs_warpgroup_made", "warp* warp") as (b, (warp,)):
        increment(b, warp.field("wgmma_made"))
        _wake(b, warp)


def _groups(m: IrModule) -> None:
    """gs_warpgroup_apart: a fence ends a batch; gs_warpgroup_commit: so does the end of a group, which notes what is in
    it.
    """
    with m.function("void", "gs_warpgroup_apart", "warp* warp") as (b, (warp,)):
        warp.wgmma_inside = 0
    with m.function("void", "gs_warpgroup_commit", "warp* warp") as (b, (warp,)):
        warp.wgmma_inside = 0
        closed = warp.wgmma_closed
        mark = entry(b, warp.field("wgmma_marks"), closed & (WGMMA_GROUPS - 1))
        b.store(warp.wgmma_made, mark)
        warp.wgmma_closed = closed + 1


def _wait(m: IrModule) -> None:
    """gs_warpgroup_wait: until all warps have made what is in the groups but the last `pending`."""
    with m.function("void", "gs_warpgroup_wait", "warp* warp", "i32 pending", "i32 site") as (b, (warp, pending, site)):
        closed = warp.wgmma_closed
        with b.if_(closed > pending):
            last = closed - pending - 1
            mark = entry(b, warp.field("wgmma_marks"), last & (WGMMA_GROUPS - 1))
            _hold(b, warp, site, 1, b.load("i32", mark))
