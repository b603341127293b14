"""Reports of uses of values that nothing has written, once for each place in the code."""

from __future__ import annotations

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.finding_records import OTHER_MASK
from gridstride.virtual.abi.memory_records import SITE
from gridstride.virtual.abi.value_origins import MEANINGLESS, NO_SECOND_SITE, REGISTER, SHARED, SHUFFLED, STORED
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.sanitize.shared_races import plane_of


def emit_reports(m: IrModule) -> None:
    """gs_report_uninitialised (`space` is where the addresses of the lanes are), _meaningless, _members and
    _masks.
    """
    head = ("warp* warp", "i32 site", "i32 lanes", "i32 space", f"{wide('i64')} address")
    with m.function("void", "gs_report_uninitialised", *head, cold=True) as (b, (warp, site, lanes, space, address)):
        with b.if_(lanes == 0):
            b.ret()
        _return_if_reported(b, warp, site)
        lane = _first_lane(b, lanes)
        first = b.extract(address, lane)
        other = b.call("i32", "gs_unset_origin", warp, space, first) | NO_SECOND_SITE
        kind = i32(FAULT["uninitialised_read"])
        b.call("void", "gs_report", warp, kind, site, lane, other, i32(0), first)
    with m.function("i32", "gs_unset_origin", "warp* warp", "i32 space", "i64 address", cold=True) as (b, args):
        warp, space, address = args
        race = warp.block.race
        with b.if_((space == SHARED) & (race != NULL)):
            unit = b.resize(address, "i32") >> race.shift
            with b.if_(unit < race.words):
                written = b.load("i32", plane_of(b, race, "written", b.resize(unit, "i64")))
                b.ret(b.select(written == MEANINGLESS, i32(STORED), space))
        b.terminated = False
        b.ret(space)
    _emit_meaningless(m)
    mask_head = ("warp* warp", "i32 site", "i32 wrong", "i32 absent", f"{wide('i32')} members")
    with m.function("void", "gs_report_members", *mask_head, cold=True) as (b, (warp, site, wrong, absent, members)):
        _return_if_reported(b, warp, site)
        lane = _first_lane(b, wrong)
        mask = b.extract(members, lane)
        missing = mask & absent
        masks = (b.resize(missing, "i64") << 32) | b.resize(mask, "i64")
        b.call("void", "gs_report", warp, i32(FAULT["member_mask"]), site, lane, site, i32(0), masks)

    _emit_masks(m)


def _emit_masks(m: IrModule) -> None:
    """Two lanes of which the first names the other, which gives another mask."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 other", f"{wide('i32')} members")
    with m.function("void", "gs_report_masks", *head, cold=True) as (b, (warp, site, lane, other, members)):
        _return_if_reported(b, warp, site)
        masks = (b.resize(b.extract(members, other), "i64") << 32) | b.resize(b.extract(members, lane), "i64")
        b.call("void", "gs_report", warp, i32(FAULT["member_mask"]), site, lane, site, other | OTHER_MASK, masks)


def _emit_meaningless(m: IrModule) -> None:
    """A value that means nothing is used at `site`; it came to `lane` at `origin`, from `space` (see taint)."""
    head = ("warp* warp", "i32 site", "i32 lanes", "i32 branch", "i32 origin", "i32 lane", "i32 space", "i64 address")
    with m.function("void", "gs_report_meaningless", *head, cold=True) as (b, args):
        warp, site, lanes, branch, origin, lane, space, address = args
        shuffled = space == SHUFFLED
        with b.if_(shuffled & (branch != 0)):
            b.ret()
        unwritten = space == REGISTER
        at = b.select(unwritten, site, origin)
        _return_if_reported(b, warp, at)
        lane = b.select(unwritten | shuffled, _first_lane(b, lanes), lane)
        kind = b.select(shuffled, i32(FAULT["inactive_lane"]), i32(FAULT["uninitialised_read"]))
        # In `who` a warp's number has room above the lane: that is where the space goes, for there is no other thread.
        origin_space = b.call("i32", "gs_unset_origin", warp, space, address)
        other_thread = b.select(shuffled, b.resize(address, "i32"), origin_space << 8)
        b.call("void", "gs_report", warp, kind, at, lane, site, other_thread, address)


def _return_if_reported(b: Builder, warp: Record, site: Value) -> None:
    """Returns from the function where the site has reported already; else notes that it has."""
    entry = warp.sites[b.resize(site, "i64")]
    reported = b.offset(entry, SITE.offset["spare"])
    with b.if_(b.load("i64", reported) != 0):
        b.ret()
    b.store(i64(1), reported)


def _first_lane(b: Builder, mask: Value) -> Value:
    """The number of the lowest lane of a mask."""
    return b.call("i32", "llvm.cttz.i32", mask, constant("i1", True))
