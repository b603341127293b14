"""Functions of the device runtime that ask or make handles: attributes, texts, streams, events and memory."""

from __future__ import annotations

from gridstride.virtual.abi.grid_launches import INVALID_DEVICE, INVALID_VALUE, NO_ATTRIBUTE, OUT_OF_MEMORY
from gridstride.virtual.ir.builder import IrModule
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.device_runtime.device_calls import (
    callable_of,
    count_one,
    launch_queue,
    output_address,
    return_code,
)
from gridstride.virtual.runtime.memory.printf_records import row


def emit_handle(m: IrModule) -> None:
    """cudaStreamCreateWithFlags, cudaEventCreateWithFlags: a new handle at each address; `most` is the largest flag."""
    head = ("warp* warp", "i32 site", "i32 mask", "i64 base", "i32 most", "ptr addresses", "ptr flags", "ptr results")
    with m.function("void", "gs_launch_handle", *head, cold=True) as (b, args):
        warp, site, mask, base, most, addresses, flags, results = args
        queue = launch_queue(b, warp)
        with b.lanes(mask) as lane:
            valid = b.load("i32", row(b, flags, lane, 4)) <= most
            with b.if_(valid):
                number = b.resize(count_one(b, queue, "streams"), "i64")
                address = b.load("i64", row(b, addresses, lane, 8))
                b.store(base + (number << 4), output_address(b, warp, site, lane, address, 8))
            return_code(b, warp, lane, b.select(valid, i32(0), i32(INVALID_VALUE)), results)


def emit_attribute(m: IrModule) -> None:
    """cudaDeviceGetAttribute."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr which", "ptr devices", "ptr results")
    with m.function("void", "gs_launch_attribute", *head, cold=True) as (b, args):
        warp, site, mask, addresses, which, devices, results = args
        queue, code = launch_queue(b, warp), b.alloca("i32")
        with b.lanes(mask) as lane:
            b.store(i32(INVALID_DEVICE), code)
            with b.if_(b.load("i32", row(b, devices, lane, 4)) == 0):
                b.store(i32(INVALID_VALUE), code)
                number, count = b.load("i32", row(b, which, lane, 4)), queue.attribute_count
                number = b.intrinsic("umin", number, b.resize(count, "i32"))
                value = b.load("i32", row(b, queue.attributes, number, 4))
                with b.if_(value != NO_ATTRIBUTE):
                    b.store(i32(0), code)
                    address = b.load("i64", row(b, addresses, lane, 8))
                    b.store(value, output_address(b, warp, site, lane, address, 4))
            return_code(b, warp, lane, b.load("i32", code), results)


def emit_text(m: IrModule) -> None:
    """cudaGetErrorName (`part` 0), cudaGetErrorString (1): addresses of texts."""
    head = ("warp* warp", "i32 mask", "i32 part", "ptr codes", "ptr results")
    with m.function("void", "gs_launch_text", *head, cold=True) as (b, (warp, mask, part, codes, results)):
        queue = launch_queue(b, warp)
        count = queue.names
        with b.lanes(mask) as lane:
            code = b.intrinsic("umin", b.load("i32", row(b, codes, lane, 4)), count - 1)
            at = code + part * count
            b.store(b.load("i64", row(b, queue.strings, at, 8)), row(b, results, lane, 8))


_WORDS = 19
"""Words of cudaFuncAttributes that mean something (driver_types.h); the reserved ones after them stay as they are."""


def emit_function(m: IrModule) -> None:
    """cudaFuncGetAttributes: sizes and limits of a kernel."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr functions", "ptr results")
    with m.function("void", "gs_launch_function", *head, cold=True) as (b, args):
        warp, site, mask, addresses, functions, results = args
        queue = launch_queue(b, warp)
        with b.lanes(mask) as lane:
            kernel = callable_of(b, queue, b.load("i64", row(b, functions, lane, 8)))
            is_kernel = kernel.entry != 0
            with b.if_(is_kernel):
                shared = kernel.shared
                local, threads = kernel.local, kernel.threads
                chip = queue.binary
                words = {0: shared, 4: local, 6: threads, 7: kernel.registers, 8: chip, 9: chip}
                address = b.load("i64", row(b, addresses, lane, 8))
                for word in range(_WORDS):
                    at = address + 4 * word
                    b.store(words.get(word, i32(0)), output_address(b, warp, site, lane, at, 4))
            return_code(b, warp, lane, b.select(is_kernel, i32(0), i32(INVALID_VALUE)), results)


def emit_tell(m: IrModule) -> None:
    """gs_launch_tell: one number to each address."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "i32 value")
    with m.function("void", "gs_launch_tell", *head, cold=True) as (b, args):
        warp, site, mask, addresses, value = args
        with b.lanes(mask) as lane:
            address = b.load("i64", row(b, addresses, lane, 8))
            b.store(value, output_address(b, warp, site, lane, address, 4))


def emit_malloc(m: IrModule) -> None:
    """cudaMalloc: hands on what the heap gave."""
    head = ("warp* warp", "i32 site", "i32 mask", "ptr addresses", "ptr found", "ptr results")
    with m.function("void", "gs_launch_malloc", *head, cold=True) as (b, args):
        warp, site, mask, addresses, blocks, results = args
        with b.lanes(mask) as lane:
            address, block = (b.load("i64", row(b, column, lane, 8)) for column in (addresses, blocks))
            b.store(block, output_address(b, warp, site, lane, address, 8))
            code = b.select(block == 0, i32(OUT_OF_MEMORY), i32(0))
            return_code(b, warp, lane, code, results)
