"""Blocks that wait for ever in loops: found where one worker runs all there is, so that nobody else can end the wait.

Such a run is a deterministic machine: once all that it works with is as it was some rounds before, it stays so. What it
works with are the stacks of the warps, which hold their registers when they give way, shared memory and, looked at
before and after the rest has stood still for a while, global memory. A warp that waits at a barrier keeps counts of
barriers on its stack; those are left out, and more rounds asked for instead.
"""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import IN_LOOPS, SPINNING, WAITING
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.memory_records import ALLOCATION
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import i32, i64, warp_at

ROUNDS = 256
"""Rounds in which all blocks wait before the first look; a warp goes round its loop up to 64 times in each of them, or
once where it sleeps.
"""
TIMES = 4
"""How often a state must come back."""
AT_BARRIERS = 4096
"""Rounds in which it must, where warps wait at barriers."""
LONGER = 2
"""log2 of how many times as many rounds the next state has time to come back in."""


def emit_stalls(m: IrModule, stack_margin: int) -> None:
    """gs_stalled: counts a round in which all blocks waited in loops, and ends the launch where that is for good."""
    _words(m)
    _state(m, stack_margin)
    _memory(m)
    _stalled(m)


def _words(m: IrModule) -> None:
    """A hash of words of 8 bytes (FNV-1a, on words), going on from another one."""
    with m.function("i64", "gs_hash_words", "i64 start", "i64 end", "i64 hash", cold=True) as (b, (start, end, hash_)):
        at, digest = b.alloca("i64"), b.alloca("i64")
        b.store(start, at)
        b.store(hash_, digest)
        with b.loop() as done:
            address = b.load("i64", at)
            b.break_if(address >= end, done)
            word = b.load("i64", b.pointer(address), align=1)
            mixed = (b.load("i64", digest) ^ word) * 0x100000001B3
            b.store(mixed ^ (mixed >> 29), digest)
            b.store(address + 8, at)
        b.ret(b.load("i64", digest))


def _state(m: IrModule, stack_margin: int) -> None:
    """How many blocks have started, the stacks of the warps that run in loops, the shared memory of their blocks."""
    with m.function("i64", "gs_state", "worker* worker", "i64 slots", "ptr waiting", cold=True) as (b, args):
        worker, slots, waiting = args
        launch = worker.launch
        digest, slot, number = b.alloca("i64"), b.alloca("i64"), b.alloca("i32")
        # Slots that find no block left go on counting.
        b.store(b.intrinsic("umin", launch.next, launch.blocks), digest)
        b.store(i64(0), slot)
        b.store(i64(0), waiting)
        with b.loop() as done:
            s = b.load("i64", slot)
            b.break_if(s >= slots, done)
            b.store(s + 1, slot)
            block = worker.blocks[s]
            with b.if_(block.active != 0):
                shared = block.shared
                nbytes = launch.shared_size & -8
                _mix(b, shared, shared + nbytes, digest)
                b.store(i32(0), number)
                with b.loop() as over:
                    n = b.load("i32", number)
                    b.break_if(n >= block.warp_count, over)
                    b.store(n + 1, number)
                    warp = warp_at(b, block, n)
                    state = warp.state
                    with b.if_(state == WAITING):
                        b.store(i64(1), waiting)
                    with b.if_(state == SPINNING):
                        sp = warp.sp
                        top = worker.stack_size - stack_margin
                        top = warp.stack_limit + top
                        _mix(b, b.define("i64", f"ptrtoint ptr {sp.name} to i64"), top, digest)
        b.ret(b.load("i64", digest))


def _mix(b: Builder, start: Value, end: Value, digest: Value) -> None:
    b.store(b.call("i64", "gs_hash_words", start, end, b.load("i64", digest)), digest)


def _memory(m: IrModule) -> None:
    """All allocations of global memory; the last bytes of one that is no multiple of 8 are its gap's."""
    with m.function("i64", "gs_global_state", "launch* launch", cold=True) as (b, (launch,)):
        digest, at = b.alloca("i64"), b.alloca("i64")
        b.store(i64(1), digest)
        b.store(i64(0), at)
        with b.loop() as done:
            number = b.load("i64", at)
            b.break_if(number >= launch.allocation_count, done)
            b.store(number + 1, at)
            offset = number * ALLOCATION.size
            allocation = b.record(b.offset(launch.allocations, offset), ALLOCATION)
            start = allocation.start
            _mix(b, start, start + allocation.size, digest)
        b.ret(b.load("i64", digest))


def _stalled(m: IrModule) -> None:
    """Keeps a state and waits for it to come back, longer each time (Brent, "An improved Monte Carlo
    factorization algorithm", 1980): warps that sleep or back off take some rounds to get there.
    """
    with m.function("void", "gs_stalled", "worker* worker", "i64 slots", cold=True) as (b, (worker, slots)):
        launch, waiting = worker.launch, b.alloca("i64")
        rounds = worker.stall_rounds + 1
        worker.stall_rounds = rounds
        with b.if_(rounds < ROUNDS):
            b.ret()
        state = b.call("i64", "gs_state", worker, slots, waiting)
        times, since = worker.stall_times, worker.stall_since
        first, more, other = b.new_label("first"), b.new_label("more"), b.new_label("other")
        same = state == worker.stall_state
        b.branch(same & (times != 0), more, other)
        b.start(other)
        late = rounds >= (since << LONGER)
        over = b.new_label("over")
        b.branch(late, first, over)
        b.start(over)
        b.ret()
        b.start(first)
        worker.stall_since = rounds
        worker.stall_state = state
        worker.stall_memory = b.call("i64", "gs_global_state", launch)
        worker.stall_times = 1
        b.ret()
        b.start(more)
        worker.stall_times = times + 1
        barriers = b.load("i64", waiting) != 0
        brief = barriers & (rounds - since < AT_BARRIERS)
        with b.if_(brief | (times < TIMES)):
            b.ret()
        moved = b.call("i64", "gs_global_state", launch) != worker.stall_memory
        with b.if_(moved):  # a loop of atomics: the next look at all of memory is as many rounds away again
            worker.stall_times = 0
            worker.stall_since = rounds
            b.ret()
        _report(b, worker)


def _report(b: Builder, worker: Record) -> None:
    """The first warp that runs in a loop stands for all."""
    at, warps = b.alloca("i64"), worker.warps
    b.store(i64(0), at)
    with b.loop() as position:
        warp = warps[b.load("i64", at)]
        b.break_if(warp.state == SPINNING, position)
        b.store(b.load("i64", at) + 1, at)
    warp = warps[b.load("i64", at)]
    live, site = warp.live, warp.site
    b.call("void", "gs_record", warp, site, i32(FAULT["deadlock"]), live, i64(0), i32(0), i32(IN_LOOPS))
