"""Errors of the device runtime: each thread has its last one, and the host those that no thread asked about."""

from __future__ import annotations

from gridstride.virtual.abi.grid_launches import FAILURE, MAX_FAILURES
from gridstride.virtual.ir.builder import IrModule
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.device_runtime.device_calls import count_one, launch_queue, record_owner
from gridstride.virtual.runtime.memory.printf_records import row


def emit_failed(m: IrModule) -> None:
    """gs_launch_failed: an error becomes the thread's last one; the host gets it, too, until the thread asks."""
    head = ("warp* warp", "i32 site", "i32 lane", "i32 code", "i64 function")
    with m.function("void", "gs_launch_failed", *head, cold=True) as (b, (warp, site, lane, code, function)):
        errors = warp.errors
        b.store(code, row(b, errors.field("code"), lane, 4))
        queue = launch_queue(b, warp)
        number = count_one(b, queue, "failures")
        failure = row(b, errors.field("failure"), lane, 4)
        b.store(i32(0), failure)
        with b.if_(number < MAX_FAILURES):
            b.store(number + 1, failure)
            record = queue.failed[b.resize(number, "i64")]
            fields = {"code": code, "seen": i32(0), "function": function, **record_owner(b, warp, lane, site)}
            for name, value in fields.items():
                b.put(record, FAILURE, name, value)


def emit_last_error(m: IrModule) -> None:
    """gs_launch_error: cudaGetLastError (`reset`) and cudaPeekAtLastError."""
    head = ("warp* warp", "i32 mask", "i32 reset", "ptr results")
    with m.function("void", "gs_launch_error", *head, cold=True) as (b, (warp, mask, reset, results)):
        errors, failed = warp.errors, launch_queue(b, warp).failed
        with b.lanes(mask) as lane:
            code = row(b, errors.field("code"), lane, 4)
            b.store(b.load("i32", code), row(b, results, lane, 4))
            which = b.load("i32", row(b, errors.field("failure"), lane, 4))
            with b.if_(which != 0):
                at = b.resize(which - 1, "i64") * FAILURE.size
                b.record(b.offset(failed, at), FAILURE).seen = 1
            with b.if_(reset != 0):
                b.store(i32(0), code)
