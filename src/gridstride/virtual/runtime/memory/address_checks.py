"""The runtime's memory code: exact bounds, the slow path of every access, and gathers by half-warp pattern."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, LOCAL, SHARED
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.memory_records import SITE
from gridstride.virtual.ir.builder import (
    NULL,
    Builder,
    IrModule,
    Record,
    Value,
    bits,
    constant,
    count,
    vector_constant,
    wide,
)
from gridstride.virtual.runtime.common import i32, i64

HALF = LANES // 2


def emit_memory(m: IrModule) -> None:
    """gs_resolve and everything built on it."""
    _lookup(m)
    _resolve(m)
    _slow(m)
    _bad_local(m)
    for space, type_ in (("global", "i64"), ("shared", "i32")):
        for size, n in ((4, 1), (4, 2), (4, 4), (8, 1), (8, 2)):
            _gather(m, space, type_, size, n)
        for size in (4, 8):
            _scatter(m, space, type_, size)


# -- one lane ---------------------------------------------------------------------------------------------------------
def _lookup(m: IrModule) -> None:
    """Finds the allocation, shared window, local window or parameter block that holds an address, or faults."""
    with m.function("ptr", "gs_lookup", "warp* warp", "i32 site", "i32 lane", "i64 address", "i32 size", cold=True) as (
        b,
        (warp, site, lane, address, size),
    ):
        lanes = 1 << lane
        bytes_ = b.resize(size, "i64")
        low_bits = address & (bytes_ - 1)
        with b.if_(low_bits != 0):
            b.call("void", "gs_fault", warp, site, i32(FAULT["misaligned"]), lanes, address, size)
        peer = b.call("ptr", "gs_cluster_window", warp, site, lanes, address, size)
        with b.if_(peer != NULL):
            b.ret(peer)
        with b.if_(b.call("i1", "gs_heap_check", warp, site, lanes, address, size)):
            b.ret(b.pointer(address))
        launch = warp.launch
        range_ = _search(b, launch, address)
        start, length = range_.start, range_.size
        with b.if_(_within(b, address, bytes_, start, length)):
            _remember(b, warp, site, size, start, length)
            b.ret(b.pointer(address))
        b.terminated = False
        worker = warp.worker
        local = worker.local_stride * 1
        windows = (
            (warp.shared, warp.shared_size),
            (warp.local, local),
            (_address(b, launch.params), launch.param_size),
        )
        for base, extent in windows:
            with b.if_(_within(b, address, bytes_, base, extent)):
                b.ret(b.pointer(address))
            b.terminated = False
        b.call("void", "gs_fault", warp, site, i32(FAULT["out_of_bounds"]), lanes, address, size)
        b.unreachable()


def _address(b: Builder, pointer: Value) -> Value:
    return b.define("i64", f"ptrtoint ptr {pointer.name} to i64")


def _within(b: Builder, address: Value, size: Value, start: Value, length: Value) -> Value:
    distance = address - start
    fits = length >= size
    return fits & (distance <= length - size)


def _search(b: Builder, launch: Record, address: Value) -> Record:
    """The last allocation that starts at or before the address; entry 0 is an empty one at address 0."""
    table = launch.allocations
    low, high = b.alloca("i64"), b.alloca("i64")
    b.store(i64(0), low)
    b.store(launch.allocation_count, high)
    with b.loop() as done:
        lo, hi = b.load("i64", low), b.load("i64", high)
        b.break_if(hi - lo <= 1, done)
        middle = (lo + hi) >> 1
        right = table[middle].start <= address
        b.store(b.select(right, middle, lo), low)
        b.store(b.select(right, hi, middle), high)
    return table[b.load("i64", low)]


def _remember(b: Builder, warp: Record, site: Value, size: Value, start: Value, length: Value) -> None:
    """Lets the site's inline check pass for this allocation from now on."""
    entry = _site(b, warp, site)
    widest = b.load("i64", b.offset(entry, SITE.offset["span"]))
    shift = b.resize(b.call("i32", "llvm.cttz.i32", size, constant("i1", False)), "i64")
    room = (length - widest) >> shift
    limit = b.select(length >= widest, room + 1, i64(0))
    b.store(start, entry)
    b.store(limit, b.offset(entry, SITE.offset["limit"]))


def _site(b: Builder, warp: Record, site: Value) -> Value:
    return warp.sites[b.resize(site, "i64")]


def _resolve(m: IrModule) -> None:
    """Where one lane's access is in this process: checked, aligned, and counted from the space's base."""
    with m.function(
        "ptr", "gs_resolve", "warp* warp", "i32 site", "i32 lane", "i64 address", "i32 size", "i32 space"
    ) as (
        b,
        (warp, site, lane, address, size, space),
    ):
        with b.if_(space == SHARED):
            bytes_, extent = b.resize(size, "i64"), warp.shared_size
            aligned = (address & (bytes_ - 1)) == 0
            lanes = 1 << lane
            with b.if_(~_within(b, address, bytes_, i64(0), extent)):
                kind = i32(FAULT["out_of_bounds"])
                b.call("void", "gs_fault_in", warp, site, kind, lanes, address, size, space)
            with b.if_(~aligned):
                b.call("void", "gs_fault_in", warp, site, i32(FAULT["misaligned"]), lanes, address, size, space)
            b.ret(b.offset(b.pointer(warp.shared), address))
        b.terminated = False
        with b.if_(space == CLUSTER_SPACE):
            b.ret(b.call("ptr", "gs_cluster_place", warp, site, lane, address, size, size))
        entry = _site(b, warp, site)
        distance = address - b.load("i64", entry)
        shift = b.resize(b.call("i32", "llvm.cttz.i32", size, constant("i1", False)), "i64")
        turned = b.call("i64", "llvm.fshr.i64", distance, distance, shift)
        with b.if_(turned < b.load("i64", b.offset(entry, SITE.offset["limit"])), likely=True):
            b.ret(b.pointer(address))
        b.terminated = False
        b.ret(b.call("ptr", "gs_lookup", warp, site, lane, address, size))


def _bad_local(m: IrModule) -> None:
    with m.function(
        "void", "gs_bad_local", "warp* warp", "i32 site", "i32 bad", "ptr where", "i32 size", cold=True
    ) as (
        b,
        (warp, site, bad, where, size),
    ):
        lane = b.resize(b.call("i32", "llvm.cttz.i32", bad, constant("i1", False)), "i64")
        address = b.load("i64", b.offset(where, lane * 8))
        odd = address & (b.resize(size, "i64") - 1)
        wrong = i32(FAULT["misaligned"])
        kind = b.select(odd != 0, wrong, i32(FAULT["out_of_bounds"]))
        b.call("void", "gs_fault_in", warp, site, kind, bad, address, size, i32(LOCAL))


# -- lane by lane -----------------------------------------------------------------------------------------------------
def _slow(m: IrModule) -> None:
    """gs_load and gs_store: any size, any pattern. Values lie element by element, 32 lanes each."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr where", "ptr values", "i32 size", "i32 count", "i32 space")
    for name, loads in (("gs_load", True), ("gs_store", False)):
        with m.function("void", name, *head, cold=True) as (b, (warp, site, mask, where, values, size, n, space)):
            total = size * n
            with b.lanes(mask) as lane:
                long = b.resize(lane, "i64")
                address = b.load("i64", b.offset(where, long * 8))
                target = b.call("ptr", "gs_resolve", warp, site, lane, address, total, space)
                _copy_elements(b, target, values, long, size, n, loads=loads)


def _copy_elements(
    b: Builder, memory: Value, values: Value, lane: Value, size: Value, n: Value, *, loads: bool
) -> None:
    step, at = b.resize(size, "i64"), b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        j = b.load("i32", at)
        b.break_if(j >= n, done)
        long = b.resize(j, "i64")
        element = b.offset(memory, long * step)
        row = long * LANES + lane
        value_pointer = b.offset(values, row * step)
        to, source = (value_pointer, element) if loads else (element, value_pointer)
        _copy(b, to, source, size)
        b.store(j + 1, at)


def _copy(b: Builder, to: Value, source: Value, size: Value) -> None:
    """One element of 1, 2, 4, 8 or 16 bytes in one access, so that other threads never see half of it. Processors with
    AVX, and those of AArch64 with LSE2, make one of an aligned vector of 16.
    """
    for bytes_ in (1, 2, 4, 8, 16):
        type_ = f"i{8 * bytes_}" if bytes_ <= 8 else "<2 x i64>"
        with b.if_(size == bytes_):
            b.store(b.load(type_, source, align=bytes_), to, align=bytes_)


# -- whole warps ------------------------------------------------------------------------------------------------------
def _inside(b: Builder, warp: Record, site: Value, mask: Value, address: Value, size: int, space: str) -> Value:
    """An i1: all active lanes pass the site's bounds (or shared memory's) and are aligned."""
    shift = size.bit_length() - 1
    if space == "shared":
        extent = b.resize(warp.shared_size, "i32")
        room = (extent - size) >> shift
        limit = b.select(extent >= size, room + 1, i32(0))
        distance = address
    else:
        entry = _site(b, warp, site)
        limit = b.load("i64", b.offset(entry, SITE.offset["limit"]))
        distance = address - b.splat(b.load("i64", entry))
    turned = b.intrinsic("fshr", distance, distance, constant(distance.type, shift)) if shift else distance
    fine = b.bitcast(turned < b.splat(limit), "i32")
    missing = mask & ~fine
    return missing == 0


def _base(b: Builder, warp: Record, space: str) -> Value:
    return warp.shared if space == "shared" else i64(0)


def _gather(m: IrModule, space: str, address_type: str, size: int, n: int) -> None:
    """Loads one address per lane: contiguous or uniform half-warps as vectors, the rest by the hardware's gather."""
    name = f"gs_gather_{space}_{size}_{n}"
    type_, out = wide(f"i{8 * size}"), n > 1
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide(address_type)} address", *(("ptr out",) if out else ()))
    with m.function("void" if out else type_, name, *head) as (b, args):
        warp, site, mask, address = args[:4]
        result = args[4] if out else b.alloca(type_, align=64)
        slow, fast = b.new_label("slow"), b.new_label("fast")
        b.branch(_inside(b, warp, site, mask, address, size * n, space), fast, slow, likely=True)
        b.start(fast)
        long = b.resize(address, "i64") + b.splat(_base(b, warp, space))
        if n == 1:
            _by_half(b, mask, address, long, size, result)
        else:
            _columns(b, mask, long, size, n, result)
        _finish(b, result, type_, out)
        b.start(slow)
        where = b.alloca(wide("i64"), align=64)
        b.store(b.resize(address, "i64"), where)
        number = i32(1 if space == "shared" else 0)
        b.call("void", "gs_load", warp, site, mask, where, result, i32(size), i32(n), number)
        _finish(b, result, type_, out)


def _finish(b: Builder, result: Value, type_: str, out: bool) -> None:
    b.ret(None if out else b.load(type_, result))


def _columns(b: Builder, mask: Value, long: Value, size: int, n: int, result: Value) -> None:
    bits_ = b.bitcast(mask, wide("i1"))
    for j in range(n):
        moved = long + size * j
        b.store(_hardware_gather(b, moved, bits_, size), b.offset(result, size * LANES * j))


def _hardware_gather(b: Builder, long: Value, mask: Value, size: int) -> Value:
    lanes = count(long.type)
    pointers = b.define(f"<{lanes} x ptr>", f"inttoptr {long!r} to <{lanes} x ptr>")
    type_ = f"<{lanes} x i{8 * size}>"
    name = f"llvm.masked.gather.v{lanes}i{8 * size}.v{lanes}p0"
    return b.call(type_, name, pointers, i32(size), mask, constant(type_, 0))


def _by_half(b: Builder, mask: Value, address: Value, long: Value, size: int, result: Value) -> None:
    """Each half-warp on its own: lanes 0–15, then 16–31."""
    for half in range(2):
        indices = [HALF * half + i for i in range(HALF)]
        part, part_long = b.shuffle(address, indices), b.shuffle(long, indices)
        to = b.offset(result, size * HALF * half)
        active = b.resize(mask >> (HALF * half), "i16")
        distance = part - b.splat(b.extract(part, 0), HALF)
        is_full = active == -1
        run = _all(b, distance, [size * i for i in range(HALF)])
        contiguous, other, done = (b.new_label(x) for x in ("run", "other", "half"))
        base = b.pointer(b.extract(part_long, 0))
        b.branch(is_full & run, contiguous, other)
        b.start(contiguous)
        type_ = f"<{HALF} x i{8 * size}>"
        b.store(b.load(type_, base, align=size), to, align=size)
        b.jump(done)
        b.start(other)
        same, spread = b.new_label("same"), b.new_label("spread")
        b.branch(is_full & _all(b, distance, [0] * HALF), same, spread)
        b.start(same)
        b.store(b.splat(b.load(f"i{8 * size}", base, align=size), HALF), to, align=size)
        b.jump(done)
        b.start(spread)
        b.store(_hardware_gather(b, part_long, b.bitcast(active, f"<{HALF} x i1>"), size), to, align=size)
        b.jump(done)
        b.start(done)


def _all(b: Builder, distance: Value, lanes_needed: list[int]) -> Value:
    type_ = f"i{bits(distance.type)}"
    equal = distance == vector_constant(type_, lanes_needed)
    return b.bitcast(equal, f"i{len(lanes_needed)}") == -1


def _scatter(m: IrModule, space: str, address_type: str, size: int) -> None:
    """Stores one element per lane; of lanes with one address the highest stays."""
    type_ = wide(f"i{8 * size}")
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide(address_type)} address", f"{type_} value")
    with m.function("void", f"gs_scatter_{space}_{size}", *head) as (b, (warp, site, mask, address, value)):
        slow, fast = b.new_label("slow"), b.new_label("fast")
        b.branch(_inside(b, warp, site, mask, address, size, space), fast, slow, likely=True)
        b.start(fast)
        long = b.resize(address, "i64") + b.splat(_base(b, warp, space))
        distance = long - b.splat(b.extract(long, 0))
        run = _all(b, distance, [size * i for i in range(LANES)])
        bits_ = b.bitcast(mask, wide("i1"))
        contiguous, apart = b.new_label("run"), b.new_label("apart")
        b.branch(run, contiguous, apart)
        b.start(contiguous)
        base = b.pointer(b.extract(long, 0))
        b.call("void", f"llvm.masked.store.v{LANES}i{8 * size}.p0", value, base, i32(size), bits_)
        b.ret()
        b.start(apart)
        pointers = b.define(wide("ptr"), f"inttoptr {long!r} to {wide('ptr')}")
        b.call("void", f"llvm.masked.scatter.v{LANES}i{8 * size}.v{LANES}p0", value, pointers, i32(size), bits_)
        b.ret()
        b.start(slow)
        where, values = b.alloca(wide("i64"), align=64), b.alloca(type_, align=64)
        b.store(b.resize(address, "i64"), where)
        b.store(value, values)
        number = i32(1 if space == "shared" else 0)
        b.call("void", "gs_store", warp, site, mask, where, values, i32(size), i32(1), number)
