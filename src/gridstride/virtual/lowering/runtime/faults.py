"""Faults that end a launch: the first one is recorded, then every warp leaves."""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Module, constant
from gridstride.virtual.lowering.runtime.common import i32, i64, to_scheduler
from gridstride.virtual.machine.layout import DONE, LAUNCH, WARP


def emit_faults(m: Module) -> None:
    """gs_record, gs_leave, gs_fault, gs_fault_in, gs_stop."""
    plain = ("ptr warp", "i32 site", "i32 kind", "i32 lanes", "i64 address", "i32 size")
    spaced = (*plain, "i32 space")
    with m.function("void", "gs_record", *spaced, cold=True) as (b, (warp, site, kind, lanes, address, size, space)):
        launch = b.get(warp, WARP, "launch")
        flag = b.field(launch, LAUNCH, "faulted")
        pair = b.define("{ i32, i1 }", f"cmpxchg ptr {flag.name}, i32 0, i32 1 seq_cst seq_cst")
        first = b.define("i1", f"extractvalue {{ i32, i1 }} {pair.name}, 1")
        with b.if_(first):
            fields = {"kind": kind, "site": site, "address": address, "size": size, "mask": lanes, "space": space}
            for name, value in fields.items():
                b.put(launch, LAUNCH, f"fault_{name}", value)
            b.put(launch, LAUNCH, "fault_lane", b.call("i32", "llvm.cttz.i32", lanes, constant("i1", False)))
            b.put(launch, LAUNCH, "fault_warp", b.get(warp, WARP, "warp"))
            for axis in range(3):
                b.put(launch, LAUNCH, "fault_ctaid", b.get(warp, WARP, "ctaid", axis), axis)
        abort = b.field(launch, LAUNCH, "abort")
        b.emit(f"store atomic i32 1, ptr {abort.name} seq_cst, align 4")
    with m.function("void", "gs_leave", "ptr warp", cold=True) as (b, (warp,)):
        b.put(warp, WARP, "state", DONE)
        to_scheduler(b, warp)
        b.unreachable()
    with m.function("void", "gs_fault_in", *spaced, cold=True) as (b, args):
        b.call("void", "gs_record", *args)
        b.call("void", "gs_leave", args[0])
    with m.function("void", "gs_fault", *plain, cold=True) as (b, args):
        b.call("void", "gs_fault_in", *args, i32(0))
    with m.function("void", "gs_stop", "ptr warp", "i32 site", cold=True) as (b, (warp, site)):
        # Python asks for a stop by the fault kind itself (timeout, interrupted); another warp's fault asks with 1.
        launch = b.get(warp, WARP, "launch")
        why = b.get(launch, LAUNCH, "abort", volatile=True)
        with b.if_(b.compare("ugt", why, i32(1))):
            b.call("void", "gs_record", warp, site, why, b.get(warp, WARP, "live"), i64(0), i32(0), i32(0))
        b.call("void", "gs_leave", warp)
