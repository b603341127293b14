"""Kernels that launch kernels, copies and fills: they leave records, which the host runs.

What a launch needs is checked here, so that the thread gets the error; errors are each thread's own, as CUDA has it.
"""

from __future__ import annotations

from gridstride.virtual.abi.grid_launches import (
    FIRE_AND_FORGET,
    FUNCTION_BASE,
    INVALID_CONFIGURATION,
    INVALID_FUNCTION,
    INVALID_HANDLE,
    INVALID_VALUE,
    KERNEL,
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
from gridstride.virtual.runtime.device_runtime.device_calls import (
    callable_of,
    count_one,
    launch_queue,
    record_owner,
    return_code,
)
from gridstride.virtual.runtime.device_runtime.device_errors import emit_failed, emit_last_error
from gridstride.virtual.runtime.device_runtime.device_queries import (
    emit_attribute,
    emit_function,
    emit_handle,
    emit_malloc,
    emit_tell,
    emit_text,
)
from gridstride.virtual.runtime.memory.printf_records import row


def emit_launches(m: IrModule) -> None:
    """gs_launch_… for the device runtime's functions."""
    emit_failed(m)
    _check(m)
    _record(m)
    _buffer(m)
    _stream(m)
    _launch(m)
    _memory(m)
    emit_last_error(m)
    emit_handle(m)
    emit_attribute(m)
    emit_text(m)
    emit_function(m)
    emit_tell(m)
    emit_malloc(m)


def _check(m: IrModule) -> None:
    """What is wrong with a launch; 0 for nothing. `dims`: grid, block and dynamic shared bytes, 32 lanes each."""
    with m.function("i32", "gs_launch_check", "queue* queue", "i32 lane", "i64 function", "ptr dims", cold=True) as (
        b,
        (queue, lane, function, dims),
    ):
        kernel = callable_of(b, queue, function)
        with b.if_(kernel.entry == 0):
            b.ret(i32(INVALID_FUNCTION))
        threads = i64(1)
        for group, limits in ((0, "grid_limit"), (3, "block_limit")):
            for axis in range(3):
                extent = b.resize(_dim(b, dims, lane, group + axis), "i64")
                outside = extent - 1 >= b.get(queue, QUEUE, limits, axis)
                with b.if_(outside):
                    b.ret(i32(INVALID_CONFIGURATION))
                threads = threads * extent if group else threads
        with b.if_(threads > b.resize(kernel.threads, "i64")):
            b.ret(i32(INVALID_CONFIGURATION))
        shared = _dim(b, dims, lane, 6) + kernel.shared
        with b.if_(b.resize(shared, "i64") > queue.shared_limit):
            b.ret(i32(INVALID_CONFIGURATION))
        b.ret(i32(0))


def _dim(b: Builder, dims: Value, lane: Value, which: int) -> Value:
    """One of the 7 numbers of a launch: grid, block, dynamic shared bytes."""
    return b.load("i32", row(b, b.offset(dims, 4 * LANES * which), lane, 4))


def _record(m: IrModule) -> None:
    """A fresh record with its owner filled in, or null where as many are pending as may be."""
    with m.function("ptr", "gs_launch_record", "warp* warp", "i32 site", "i32 lane", "i32 kind", cold=True) as (
        b,
        (warp, site, lane, kind),
    ):
        queue = launch_queue(b, warp)
        number = count_one(b, queue, "count")
        with b.if_(number >= queue.limit):
            b.ret(NULL)
        at = b.resize(number, "i64") * PENDING.size
        record = b.record(b.offset(queue.records, at), PENDING)
        for name, value in {"kind": kind, "state": i32(TAKEN), **record_owner(b, warp, lane, site)}.items():
            b.put(record, PENDING, name, value)
        b.ret(record)


def _buffer(m: IrModule) -> None:
    """cudaGetParameterBufferV2: where each lane's parameters go, null with the error set where it cannot launch."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr functions", "ptr dims", "ptr results")
    with m.function("void", "gs_launch_buffer", *head, cold=True) as (b, (warp, site, mask, functions, dims, results)):
        queue, code = launch_queue(b, warp), b.alloca("i32")
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
    address, base = (b.define("i64", f"ptrtoint ptr {p.name} to i64") for p in (record, queue.records))
    number = (address - base) // PENDING.size
    return number * queue.stride


def _stream(m: IrModule) -> None:
    """True for a stream that CUDA names, or one that this grid made."""
    with m.function("i1", "gs_launch_stream", "queue* queue", "i64 stream", cold=True) as (b, (queue, stream)):
        named = stream <= FIRE_AND_FORGET
        offset = stream - STREAM_BASE
        end = b.resize(queue.streams << 4, "i64")
        aligned = (offset & 15) == 0
        b.ret(named | (aligned & (offset < end)))


def _launch(m: IrModule) -> None:
    """cudaLaunchDeviceV2: gives what a parameter buffer was made for to a stream."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr buffers", "ptr streams", "ptr results")
    with m.function("void", "gs_launch", *head, cold=True) as (b, (warp, site, mask, buffers, streams, results)):
        queue, code = launch_queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            offset = b.load("i64", row(b, buffers, lane, 8)) - queue.pool
            stride, stream = queue.stride, b.load("i64", row(b, streams, lane, 8))
            number = offset // stride
            aligned = number * stride == offset
            used = b.resize(b.intrinsic("umin", *(b.get(queue, QUEUE, f) for f in ("count", "limit"))), "i64")
            b.store(i32(INVALID_VALUE), code)
            with b.if_(aligned & (number < used)):
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
    """Puts a record at the end of a stream."""
    record.stream = stream
    record.order = count_one(b, queue, "order")
    record.state = QUEUED


def _memory(m: IrModule) -> None:
    """cudaMemcpyAsync (`sources`) and cudaMemsetAsync (`values`): done in the order of the stream."""
    head = ("warp* warp", "i32 site", "i32 mask", "i32 kind", "ptr targets", "ptr sources", "ptr values", "ptr bytes",
            "ptr streams", "ptr results")  # fmt: skip
    with m.function("void", "gs_launch_memory", *head, cold=True) as (b, args):
        warp, site, mask, kind, targets, sources, values, sizes, streams, results = args
        queue, code = launch_queue(b, warp), b.alloca("i32")
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
            return_code(b, warp, lane, b.load("i32", code), results)
