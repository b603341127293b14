"""What a wgmma in flight reads of shared memory: booked for the race detector, and held against what is written.

A warpgroup counts as one reader: what it reads is booked on its first warp, because one warp may well speak for all
four to the producer that fills its buffers. It reads when it is issued and up to the wait for its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.wgmma_flights import FLIGHT, FLIGHTS
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, vector_constant, wide
from gridstride.virtual.runtime.common import i32, i64, warp_at
from gridstride.virtual.runtime.copies.matrix_descriptors import CHUNK, ROWS, Descriptor, counted

MOST_CHUNKS = 1024
"""Chunks of the largest operand: 256 columns of 64 bytes."""


def emit_reads(m: IrModule) -> None:
    """gs_wgmma_places, gs_wgmma_read, gs_wgmma_written, gs_wgmma_filled."""
    _chunk_offsets(m)
    _read(m)
    _written(m)


@contextmanager
def account(b: Builder, warp: Record) -> Iterator[Record]:
    """Runs its body with the warp's account, where it has one and its block is observed."""
    flights = warp.wgmma
    observed = warp.observed != 0
    with b.if_((flights != NULL) & observed):
        yield flights


def entry_of(b: Builder, flights: Record, index: Value) -> Record:
    return b.record(b.offset(flights, FLIGHTS.size), FLIGHT)[b.resize(index, "i64")]


def report(b: Builder, warp: Record, kind: str, site: Value, other: Value, *, who: Value | None = None,
            address: Value | None = None) -> None:  # fmt: skip
    address = i64(0) if address is None else address
    me = warp.warp << 8
    b.call("void", "gs_report", warp, i32(FAULT[kind]), site, i32(0), other, me if who is None else who, address)


# -- what a flight reads ----------------------------------------------------------------------------------------------
def _chunk_offsets(m: IrModule) -> None:
    """Writes where each chunk of an operand lies, as i32 and up to a multiple of 32 of them; gives their number."""
    head = ("i64 word", "i32 turned", "i32 groups", "i32 chunks", "ptr out")
    with m.function("i32", "gs_wgmma_places", *head) as (b, (word, turned, groups, chunks, out)):
        d, at = Descriptor.read(b, word, turned), b.alloca("i32")
        b.store(i32(0), at)
        with counted(b, groups) as group, counted(b, chunks) as chunk:
            piece = d.piece(b, group, chunk)
            for r in range(ROWS):
                pointer = b.offset(out, b.resize(b.load("i32", at), "i64") * 4)
                b.store(d.chunk(b, piece, r), b.offset(pointer, 4 * r))
            b.store(b.load("i32", at) + ROWS, at)
        b.ret(b.load("i32", at))


@contextmanager
def _vectors(b: Builder, entry: Record, matrix: int, room: Value) -> Iterator[tuple[Value, Value]]:
    """Runs its body for each 32 chunks of a flight's operand: (offsets in shared memory, mask of those that count)."""
    word, turned, groups, chunks = (b.get(entry, FLIGHT, f, matrix) for f in ("word", "turned", "groups", "chunks"))
    count = b.call("i32", "gs_wgmma_places", word, turned, groups, chunks, room)
    steps = (count + (LANES - 1)) >> 5
    with counted(b, steps) as step:
        first = step * LANES
        offsets = b.load(wide("i32"), b.offset(room, b.resize(first, "i64") * 4), align=4)
        lanes = vector_constant("i32", range(LANES))
        some = lanes < b.splat(count - first)
        yield offsets, b.bitcast(some, "i32")


def _room(b: Builder) -> Value:
    return b.alloca(f"[{4 * MOST_CHUNKS} x i8]", align=64)


def _read(m: IrModule) -> None:
    """Books a flight's reads at this moment; `issued` 1: also looks for missing proxy fences, and notes its extent."""
    with m.function("void", "gs_wgmma_read", "warp* warp", "flight* flight", "i32 issued") as (
        b,
        (warp, entry, issued),
    ):
        site, room, shared = entry.site, _room(b), b.pointer(warp.shared)
        first = issued != 0
        for matrix in range(2):
            with _vectors(b, entry, matrix, room) as (offsets, mask):
                b.call("void", "gs_race_load", warp, site, mask, offsets, i32(CHUNK))
                with b.if_(first):
                    some = b.bitcast(mask, wide("i1"))
                    ends = (("low", "umin", -1), ("high", "umax", 0))
                    for name, join, none in ends:
                        masked = b.select(some, offsets, constant(offsets.type, none))
                        own = b.call("i32", f"llvm.vector.reduce.{join}.v{LANES}i32", masked)
                        b.put(entry, FLIGHT, name, b.intrinsic(join, own, b.get(entry, FLIGHT, name)))
                    with b.lanes(mask) as lane:
                        pointer = b.offset(shared, b.resize(b.extract(offsets, lane), "i64"))
                        b.call("void", "gs_proxy_check", warp, site, i32(0), pointer, i32(CHUNK))


# -- writes to what is being read -------------------------------------------------------------------------------------
def _written(m: IrModule) -> None:
    """gs_wgmma_written: a store, or a copy that begins, to shared memory; gs_wgmma_filled: one of many bytes."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function("void", "gs_wgmma_written", *head) as (b, (warp, site, mask, address, size)):
        watched = (warp.wgmma != NULL) & (mask != 0)
        with b.if_(watched):
            some = b.bitcast(mask, wide("i1"))
            masked = [b.select(some, address, constant(address.type, none)) for none in (-1, 0)]
            low, high = (b.call("i32", f"llvm.vector.reduce.{join}.v{LANES}i32", x)
                         for join, x in zip(("umin", "umax"), masked, strict=True))  # fmt: skip
            with _flights(b, warp, low, high + size) as (other, entry), b.lanes(mask) as lane:
                start = b.extract(address, lane)
                b.call("void", "gs_wgmma_meet", warp, site, lane, start, start + size, other, entry)
    head = ("warp* warp", "i32 site", "i32 lane", "ptr place", "i32 bytes")
    with m.function("void", "gs_wgmma_filled", *head) as (b, (warp, site, lane, pointer, bytes_)):
        watched = warp.wgmma != NULL
        with b.if_(watched):
            word = b.define("i64", f"ptrtoint {pointer!r} to i64")
            low = b.resize(word - warp.shared, "i32")
            high = low + bytes_
            with _flights(b, warp, low, high) as (other, entry):
                b.call("void", "gs_wgmma_meet", warp, site, lane, low, high, other, entry)
    _meet(m)


@contextmanager
def _flights(b: Builder, warp: Record, low: Value, high: Value) -> Iterator[tuple[Value, Record]]:
    """Runs its body for each flight of the block whose extent meets low … high: (its warp's number, its entry)."""
    block = warp.block
    with counted(b, block.warp_count) as number:
        other = warp_at(b, block, number)
        flights = other.wgmma
        with counted(b, flights.count) as index:
            entry = entry_of(b, flights, index)
            end = entry.high + CHUNK
            below = entry.low < high
            with b.if_(below & (low < end)):
                yield other.warp, entry


def _meet(m: IrModule) -> None:
    """Reports a write of `low` to `high` that meets a chunk that a flight reads."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 low", "i32 high", "i32 number", "flight* flight")
    with m.function("void", "gs_wgmma_meet", *head) as (b, (warp, site, lane, low, high, number, entry)):
        room = _room(b)
        for matrix in range(2):
            with _vectors(b, entry, matrix, room) as (offsets, mask):
                below_high = offsets < b.splat(high)
                above_low = offsets + CHUNK > b.splat(low)
                hit = mask & b.bitcast(below_high & above_low, "i32")
                with b.if_(hit != 0):
                    kind, who = i32(FAULT["wgmma_operand"]), number << 8
                    other = entry.site
                    b.call("void", "gs_report", warp, kind, site, lane, other, who, b.resize(low, "i64"))
                    b.ret()
