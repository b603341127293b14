"""Faults that end a launch: the first one is recorded, then every warp leaves."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import DONE, LAUNCH
from gridstride.virtual.ir.builder import IrModule, constant
from gridstride.virtual.runtime.common import i32, i64, to_scheduler


def emit_faults(m: IrModule) -> None:
    """gs_record, gs_leave, gs_fault, gs_fault_in, gs_stop."""
    plain = ("warp* warp", "i32 site", "i32 kind", "i32 lanes", "i64 address", "i32 size")
    spaced = (*plain, "i32 space")
    with m.function("void", "gs_record", *spaced, cold=True) as (b, (warp, site, kind, lanes, address, size, space)):
        launch = warp.launch
        flag = launch.field("faulted")
        pair = b.define("{ i32, i1 }", f"cmpxchg ptr {flag.name}, i32 0, i32 1 seq_cst seq_cst")
        first = b.define("i1", f"extractvalue {{ i32, i1 }} {pair.name}, 1")
        with b.if_(first):
            fields = {"kind": kind, "site": site, "address": address, "size": size, "mask": lanes, "space": space}
            for name, value in fields.items():
                b.put(launch, LAUNCH, f"fault_{name}", value)
            launch.fault_lane = b.call("i32", "llvm.cttz.i32", lanes, constant("i1", False))
            launch.fault_warp = warp.warp
            for axis in range(3):
                launch.fault_ctaid[axis] = warp.ctaid[axis]
        abort = launch.field("abort")
        b.emit(f"store atomic i32 1, ptr {abort.name} seq_cst, align 4")
    with m.function("void", "gs_leave", "warp* warp", cold=True) as (b, (warp,)):
        warp.state = DONE
        to_scheduler(b, warp)
        b.unreachable()
    with m.function("void", "gs_fault_in", *spaced, cold=True) as (b, args):
        b.call("void", "gs_record", *args)
        b.call("void", "gs_leave", args[0])
    with m.function("void", "gs_fault", *plain, cold=True) as (b, args):
        b.call("void", "gs_fault_in", *args, i32(0))
    with m.function("void", "gs_stop", "warp* warp", "i32 site", cold=True) as (b, (warp, site)):
        # Python asks for a stop by the fault kind itself (timeout, interrupted); another warp's fault asks with 1.
        launch = warp.launch
        why = b.get(launch, LAUNCH, "abort", volatile=True)
        with b.if_(why > 1):
            b.call("void", "gs_record", warp, site, why, warp.live, i64(0), i32(0), i32(0))
        b.call("void", "gs_leave", warp)
