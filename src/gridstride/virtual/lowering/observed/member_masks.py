"""Member masks of the `.sync` instructions in the observed build: who is named must be here, and who is here must be
named. That lanes give the mask that names them is looked at where they meet (gs_lanes_members).

On hardware the lanes that a mask names wait for each other. A lane that left need not come; one that is elsewhere makes
the others wait for ever, or the result is undefined. In functions with loops that wait for other threads the lanes of
a warp may be apart for good reasons, so there only a lane that its own mask leaves out is a finding.
"""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, vector_constant
from gridstride.virtual.lowering.function import Lowering


def check_members(cx: Lowering, members: Value) -> None:
    """`members`: an i32, or a vector of them where lanes may name different masks."""
    b = cx.b
    active = cx.active()
    if cx.always() and members.name == "-1":
        return
    inactive = b.op("xor", active, constant("i32", -1))
    absent = constant("i32", 0) if _may_diverge(cx) else b.op("and", b.get(cx.warp, WARP, "live"), inactive)
    if members.wide:
        lane = vector_constant("i32", range(LANES))
        named = b.bitcast(b.cast("trunc", b.op("lshr", members, lane), "i1"), "i32")
        waits = b.compare("ne", b.op("and", members, b.splat(absent)), constant(members.type, 0))
        wrong = b.op("or", b.op("xor", named, constant("i32", -1)), b.bitcast(waits, "i32"))
    else:
        waits = b.compare("ne", b.op("and", members, absent), constant("i32", 0))
        wrong = b.op("or", b.op("xor", members, constant("i32", -1)), b.cast("sext", waits, "i32"))
    wrong = b.op("and", wrong, active)
    with b.if_(b.compare("ne", wrong, constant("i32", 0))):
        site = constant("i32", cx.program.site(cx))
        b.call("void", "gs_report_members", cx.warp, site, wrong, absent, b.splat(members))


def _may_diverge(cx: Lowering) -> bool:
    """True where lanes that are not here may be at such an instruction elsewhere, which __syncwarp() allows."""
    if cx.code.spin_edges:
        return True
    if cx.ins.opcode not in ("bar", "barrier"):
        return False
    return sum(ins.opcode in ("bar", "barrier") and "warp" in ins.modifiers for x in cx.code.blocks for ins in x) > 1
