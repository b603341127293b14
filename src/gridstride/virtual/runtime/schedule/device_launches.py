"""The device runtime in machine code: kernels that launch kernels, copies and fills leave records; the host runs them.

What a launch needs is checked here, so that the thread gets the error; errors are each thread's own, as CUDA has it.
"""

from __future__ import annotations

from gridstride.virtual.abi.grid_launches import (
    FAILURE,
    FIRE_AND_FORGET,
    FUNCTION_BASE,
    INVALID_CONFIGURATION,
    INVALID_DEVICE,
    INVALID_FUNCTION,
    INVALID_HANDLE,
    INVALID_VALUE,
    KERNEL,
    MAX_FAILURES,
    NO_ATTRIBUTE,
    OUT_OF_MEMORY,
    PENDING,
    QUEUE,
    QUEUED,
    STREAM_BASE,
    TAKEN,
    TOO_MANY_PENDING,
)
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value
from gridstride.virtual.runtime.common import i32, i64
from gridstride.virtual.runtime.memory.printf_records import row


def emit_launches(m: IrModule) -> None:
    """gs_launch_… for the device runtime's functions."""
    _failed(m)
    _check(m)
    _record(m)
    _buffer(m)
    _stream(m)
    _launch(m)
    _memory(m)
    _last_error(m)
    _handle(m)
    _attribute(m)
    _text(m)
    _function(m)
    _tell(m)
    _malloc(m)


def _queue(b: Builder, warp: Record) -> Record:
    return warp.launch.launches


def _add(b: Builder, queue: Record, name: str) -> Value:
    return b.define("i32", f"atomicrmw add ptr {queue.field(name).name}, i32 1 seq_cst")


def _who(b: Builder, warp: Record, lane: Value, site: Value) -> dict[str, Value]:
    index = warp.block.index
    return {"index": index, "warp": warp.warp, "lane": lane, "site": site}


# -- errors -----------------------------------------------------------------------------------------------------------
def _failed(m: IrModule) -> None:
    """An error becomes the thread's last one, and the host's to know while the thread has not asked for it."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 code", "i64 function")
    with m.function("void", "gs_launch_failed", *head, cold=True) as (b, (warp, site, lane, code, function)):
        errors = warp.errors
        b.store(code, row(b, errors.field("code"), lane, 4))
        queue = _queue(b, warp)
        number = _add(b, queue, "failures")
        mine = row(b, errors.field("failure"), lane, 4)
        b.store(i32(0), mine)
        with b.if_(number < MAX_FAILURES):
            b.store(number + 1, mine)
            record = queue.failed[b.resize(number, "i64")]
            fields = {"code": code, "seen": i32(0), "function": function, **_who(b, warp, lane, site)}
            for name, value in fields.items():
                b.put(record, FAILURE, name, value)


def _last_error(m: IrModule) -> None:
    """cudaGetLastError (`reset`) and cudaPeekAtLastError."""
    head = ("warp* warp", "i32 mask", "i32 reset", "ptr results")
    with m.function("void", "gs_launch_error", *head, cold=True) as (b, (warp, mask, reset, results)):
        errors, failed = warp.errors, _queue(b, warp).failed
        with b.lanes(mask) as lane:
            code = row(b, errors.field("code"), lane, 4)
            b.store(b.load("i32", code), row(b, results, lane, 4))
            which = b.load("i32", row(b, errors.field("failure"), lane, 4))
            with b.if_(which != 0):
                at = b.resize(which - 1, "i64") * FAILURE.size
                b.record(b.offset(failed, at), FAILURE).seen = 1
            with b.if_(reset != 0):
                b.store(i32(0), code)


def _give(b: Builder, warp: Record, lane: Value, code: Value, results: Value) -> None:
    """Hands an error code to a lane, which also becomes its last error: what a call returns, the thread has seen."""
    b.store(code, row(b, results, lane, 4))
    with b.if_(code != 0):
        errors = warp.errors
        for name, value in (("code", code), ("failure", i32(0))):
            b.store(value, row(b, errors.field(name), lane, 4))


# -- launches ---------------------------------------------------------------------------------------------------------
def _callable(b: Builder, queue: Record, function: Value) -> Record:
    """The entry of a function pointer in the table; its last one, which is no kernel, for anything else."""
    number = (function - FUNCTION_BASE) >> 4
    many = queue.function_count
    number = b.intrinsic("umin", number, many)
    return queue.functions[number]


def _check(m: IrModule) -> None:
    """What is wrong with a launch; 0 for nothing. `dims`: grid, block and dynamic shared bytes, 32 lanes each."""
    with m.function("i32", "gs_launch_check", "queue* queue", "i32 lane", "i64 function", "ptr dims", cold=True) as (
        b,
        (queue, lane, function, dims),
    ):
        known = _callable(b, queue, function)
        with b.if_(known.entry == 0):
            b.ret(i32(INVALID_FUNCTION))
        threads = i64(1)
        for group, limits in ((0, "grid_limit"), (3, "block_limit")):
            for axis in range(3):
                extent = b.resize(_dim(b, dims, lane, group + axis), "i64")
                wrong = extent - 1 >= b.get(queue, QUEUE, limits, axis)
                with b.if_(wrong):
                    b.ret(i32(INVALID_CONFIGURATION))
                threads = threads * extent if group else threads
        with b.if_(threads > b.resize(known.threads, "i64")):
            b.ret(i32(INVALID_CONFIGURATION))
        shared = _dim(b, dims, lane, 6) + known.shared
        with b.if_(b.resize(shared, "i64") > queue.shared_limit):
            b.ret(i32(INVALID_CONFIGURATION))
        b.ret(i32(0))


def _dim(b: Builder, dims: Value, lane: Value, which: int) -> Value:
    return b.load("i32", row(b, b.offset(dims, 4 * LANES * which), lane, 4))


def _record(m: IrModule) -> None:
    """A fresh record with its owner filled in, or null where as many are pending as may be."""
    with m.function("ptr", "gs_launch_record", "warp* warp", "i32 site", "i32 lane", "i32 kind", cold=True) as (
        b,
        (warp, site, lane, kind),
    ):
        queue = _queue(b, warp)
        number = _add(b, queue, "count")
        with b.if_(number >= queue.limit):
            b.ret(NULL)
        at = b.resize(number, "i64") * PENDING.size
        record = b.record(b.offset(queue.records, at), PENDING)
        for name, value in {"kind": kind, "state": i32(TAKEN), **_who(b, warp, lane, site)}.items():
            b.put(record, PENDING, name, value)
        b.ret(record)


def _buffer(m: IrModule) -> None:
    """cudaGetParameterBufferV2: where each lane's parameters go, null with the error set where it cannot launch."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr functions", "ptr dims", "ptr results")
    with m.function("void", "gs_launch_buffer", *head, cold=True) as (b, (warp, site, mask, functions, dims, results)):
        queue, code = _queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            function, result = b.load("i64", row(b, functions, lane, 8)), row(b, results, lane, 8)
            b.store(b.call("i32", "gs_launch_check", queue, lane, function, dims), code)
            b.store(i64(0), result)
            with b.if_(b.load("i32", code) == 0):
                b.store(i32(TOO_MANY_PENDING), code)
                record = b.record(b.call("ptr", "gs_launch_record", warp, site, lane, i32(KERNEL)), PENDING)
                with b.if_(record != NULL):
                    b.store(i32(0), code)
                    record.function = (function - FUNCTION_BASE) >> 4
                    for axis in range(3):
                        record.grid[axis] = _dim(b, dims, lane, axis)
                        record.block[axis] = _dim(b, dims, lane, 3 + axis)
                    record.shared = _dim(b, dims, lane, 6)
                    b.store(queue.pool + _parameters(b, queue, record), result)
            with b.if_(b.load("i32", code) != 0):
                b.call("void", "gs_launch_failed", warp, site, lane, b.load("i32", code), function)


def _parameters(b: Builder, queue: Record, record: Value) -> Value:
    """Offset in the pool of a record's parameters."""
    here, base = (b.define("i64", f"ptrtoint ptr {p.name} to i64") for p in (record, queue.records))
    number = (here - base) // PENDING.size
    return number * queue.stride


def _stream(m: IrModule) -> None:
    """True for a stream that CUDA names, or one that this grid made."""
    with m.function("i1", "gs_launch_stream", "queue* queue", "i64 stream", cold=True) as (b, (queue, stream)):
        named = stream <= FIRE_AND_FORGET
        offset = stream - STREAM_BASE
        many = b.resize(queue.streams << 4, "i64")
        whole = (offset & 15) == 0
        b.ret(named | (whole & (offset < many)))


def _launch(m: IrModule) -> None:
    """cudaLaunchDeviceV2: gives what a parameter buffer was made for to a stream."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr buffers", "ptr streams", "ptr results")
    with m.function("void", "gs_launch", *head, cold=True) as (b, (warp, site, mask, buffers, streams, results)):
        queue, code = _queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            offset = b.load("i64", row(b, buffers, lane, 8)) - queue.pool
            stride, stream = queue.stride, b.load("i64", row(b, streams, lane, 8))
            number = offset // stride
            whole = number * stride == offset
            used = b.resize(b.intrinsic("umin", *(b.get(queue, QUEUE, f) for f in ("count", "limit"))), "i64")
            b.store(i32(INVALID_VALUE), code)
            with b.if_(whole & (number < used)):
                record = queue.records[number]
                with b.if_(record.state == TAKEN):
                    b.store(i32(INVALID_HANDLE), code)
                    with b.if_(b.call("i1", "gs_launch_stream", queue, stream)):
                        b.store(i32(0), code)
                        _enqueue(b, queue, record, stream)
            b.store(b.load("i32", code), row(b, results, lane, 4))
            with b.if_(b.load("i32", code) != 0):  # <<<…>>> does not look at what this returns
                b.call("void", "gs_launch_failed", warp, site, lane, b.load("i32", code), i64(0))


def _enqueue(b: Builder, queue: Record, record: Record, stream: Value) -> None:
    record.stream = stream
    record.order = _add(b, queue, "order")
    record.state = QUEUED


def _memory(m: IrModule) -> None:
    """cudaMemcpyAsync (`sources`) and cudaMemsetAsync (`values`): done in the order of the stream."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 kind", "ptr targets", "ptr sources", "ptr values", "ptr bytes",
            "ptr streams", "ptr results")  # fmt: skip
    with m.function("void", "gs_launch_memory", *head, cold=True) as (b, args):
        warp, site, mask, kind, targets, sources, values, sizes, streams, results = args
        queue, code = _queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            stream = b.load("i64", row(b, streams, lane, 8))
            b.store(i32(INVALID_HANDLE), code)
            with b.if_(b.call("i1", "gs_launch_stream", queue, stream)):
                b.store(i32(TOO_MANY_PENDING), code)
                record = b.record(b.call("ptr", "gs_launch_record", warp, site, lane, kind), PENDING)
                with b.if_(record != NULL):
                    b.store(i32(0), code)
                    for name, column in (("target", targets), ("source", sources), ("bytes", sizes)):
                        b.put(record, PENDING, name, b.load("i64", row(b, column, lane, 8)))
                    record.value = b.load("i32", row(b, values, lane, 4))
                    _enqueue(b, queue, record, stream)
            _give(b, warp, lane, b.load("i32", code), results)


def _place(b: Builder, warp: Record, site: Value, lane: Value, address: Value, size: int) -> Value:
    """Where a thread wants an answer: an address that it gave, checked, and from now on written."""
    place = b.call("ptr", "gs_lookup", warp, site, lane, address, i32(size))
    b.call("void", "gs_unset_store", warp, 1 << lane, b.splat(address), i32(size))
    return place


# -- what only asks ---------------------------------------------------------------------------------------------------
def _handle(m: IrModule) -> None:
    """cudaStreamCreateWithFlags, cudaEventCreateWithFlags: a new handle at each address; `most` is the largest flag."""
    head = ("warp* warp", "i32 site", "i32 mask", "i64 base", "i32 most", "ptr addresses", "ptr flags", "ptr results")
    with m.function("void", "gs_launch_handle", *head, cold=True) as (b, args):
        warp, site, mask, base, most, addresses, flags, results = args
        queue = _queue(b, warp)
        with b.lanes(mask) as lane:
            right = b.load("i32", row(b, flags, lane, 4)) <= most
            with b.if_(right):
                number = b.resize(_add(b, queue, "streams"), "i64")
                address = b.load("i64", row(b, addresses, lane, 8))
                b.store(base + (number << 4), _place(b, warp, site, lane, address, 8))
            _give(b, warp, lane, b.select(right, i32(0), i32(INVALID_VALUE)), results)


def _attribute(m: IrModule) -> None:
    """cudaDeviceGetAttribute."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr which", "ptr devices", "ptr results")
    with m.function("void", "gs_launch_attribute", *head, cold=True) as (b, args):
        warp, site, mask, addresses, which, devices, results = args
        queue, code = _queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            b.store(i32(INVALID_DEVICE), code)
            with b.if_(b.load("i32", row(b, devices, lane, 4)) == 0):
                b.store(i32(INVALID_VALUE), code)
                number, many = b.load("i32", row(b, which, lane, 4)), queue.attribute_count
                number = b.intrinsic("umin", number, b.resize(many, "i32"))
                value = b.load("i32", row(b, queue.attributes, number, 4))
                with b.if_(value != NO_ATTRIBUTE):
                    b.store(i32(0), code)
                    address = b.load("i64", row(b, addresses, lane, 8))
                    b.store(value, _place(b, warp, site, lane, address, 4))
            _give(b, warp, lane, b.load("i32", code), results)


def _text(m: IrModule) -> None:
    """cudaGetErrorName (`part` 0), cudaGetErrorString (1): addresses of texts."""
    head = ("warp* warp", "i32 mask", "i32 part", "ptr codes", "ptr results")
    with m.function("void", "gs_launch_text", *head, cold=True) as (b, (warp, mask, part, codes, results)):
        queue = _queue(b, warp)
        many = queue.names
        with b.lanes(mask) as lane:
            code = b.intrinsic("umin", b.load("i32", row(b, codes, lane, 4)), many - 1)
            at = code + part * many
            b.store(b.load("i64", row(b, queue.strings, at, 8)), row(b, results, lane, 8))


WORDS = 19
"""Words of cudaFuncAttributes that mean something (driver_types.h); the reserved ones after them stay as they are."""


def _function(m: IrModule) -> None:
    """cudaFuncGetAttributes: sizes and limits of a kernel."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr functions", "ptr results")
    with m.function("void", "gs_launch_function", *head, cold=True) as (b, args):
        warp, site, mask, addresses, functions, results = args
        queue = _queue(b, warp)
        with b.lanes(mask) as lane:
            known = _callable(b, queue, b.load("i64", row(b, functions, lane, 8)))
            right = known.entry != 0
            with b.if_(right):
                shared = known.shared
                local, threads = known.local, known.threads
                chip = queue.binary
                words = {0: shared, 4: local, 6: threads, 7: known.registers, 8: chip, 9: chip}
                address = b.load("i64", row(b, addresses, lane, 8))
                for word in range(WORDS):
                    at = address + 4 * word
                    b.store(words.get(word, i32(0)), _place(b, warp, site, lane, at, 4))
            _give(b, warp, lane, b.select(right, i32(0), i32(INVALID_VALUE)), results)


def _tell(m: IrModule) -> None:
    """One number to each address."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "i32 value")
    with m.function("void", "gs_launch_tell", *head, cold=True) as (b, args):
        warp, site, mask, addresses, value = args
        with b.lanes(mask) as lane:
            address = b.load("i64", row(b, addresses, lane, 8))
            b.store(value, _place(b, warp, site, lane, address, 4))


def _malloc(m: IrModule) -> None:
    """cudaMalloc: hands on what the heap gave."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr found", "ptr results")
    with m.function("void", "gs_launch_malloc", *head, cold=True) as (b, args):
        warp, site, mask, addresses, found, results = args
        with b.lanes(mask) as lane:
            address, block = (b.load("i64", row(b, column, lane, 8)) for column in (addresses, found))
            b.store(block, _place(b, warp, site, lane, address, 8))
            code = b.select(block == 0, i32(OUT_OF_MEMORY), i32(0))
            _give(b, warp, lane, code, results)
