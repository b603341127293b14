"""Special registers: %tid, %ctaid, %laneid, the lane masks, clocks and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridstride.virtual.abi.execution_records import BLOCK, CLUSTER, LAUNCH, WORKER
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, vector_constant, wide
from gridstride.virtual.lowering.analysis import affine, cluster_use
from gridstride.virtual.lowering.frame_layout import RESERVED, RESERVED_BYTES
from gridstride.virtual.lowering.linear_values import spread
from gridstride.virtual.ptx.module import Special

if TYPE_CHECKING:
    from gridstride.virtual.lowering.function import Lowering

_AXES = {"x": 0, "y": 1, "z": 2}
_FIXED = {"nwarpid": 64, "gridid": 1, "pm0": 0}
_MASKS = {
    "lanemask_eq": lambda i: 1 << i,
    "lanemask_le": lambda i: (2 << i) - 1,
    "lanemask_lt": lambda i: (1 << i) - 1,
    "lanemask_ge": lambda i: 0xFFFFFFFF & ~((1 << i) - 1),
    "lanemask_gt": lambda i: 0xFFFFFFFF & ~((2 << i) - 1),
}


def uniform_special(cx: Lowering, register: Special) -> Value:
    """A special register that all lanes of a warp share."""
    b, name, axis = cx.b, register.name, _AXES.get(register.component or "x", 0)
    if name in ("ntid", "ctaid", "nctaid"):
        return constant("i32", 1) if register.component == "w" else cx.field(name, axis)
    if name == "tid":
        return linear_base(cx, register)
    if name in ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
        return _time(cx, name)
    if name == "warpid":
        return _slot(cx)
    if name == "smid":
        return _multiprocessor(cx)
    if name == "nsmid":
        return b.get(cx.field("launch"), LAUNCH, "multiprocessors")
    if name in ("dynamic_smem_size", "total_smem_size", "aggr_smem_size"):
        total = b.resize(cx.field("shared_size"), "i32")
        reserved = RESERVED_BYTES if RESERVED in cx.program.shared else 0
        return b.op("sub", total, constant("i32", cx.program.static_shared if name[0] == "d" else reserved))
    if name.startswith("reserved_smem_offset"):
        return _reserved(cx, name)
    if name in ("envreg1", "envreg2"):
        return b.get(cx.field("launch"), LAUNCH, "envreg", int(name[-1]) - 1)
    if name in cluster_use.SPECIALS:
        return cluster_special(cx, register)
    if name in _FIXED:
        return constant("i32", _FIXED[name])
    if name.startswith(("envreg", "pm")) or name == "current_graph_exec":
        return constant("i64" if name.endswith(("_64", "exec")) else "i32", 0)  # counters that nobody set to count
    raise AssertionError(name)  # the parser knows no others


def _multiprocessor(cx: Lowering) -> Value:
    """%smid: the worker's number, or where the launch has only some multiprocessors, theirs in turn."""
    b, launch = cx.b, cx.field("launch")
    of_worker = b.op("mul", b.get(cx.field("worker"), WORKER, "index"), b.get(launch, LAUNCH, "sm_of_worker"))
    plane = b.op("add", cx.field("ctaid", 1), b.op("mul", cx.field("nctaid", 1), cx.field("ctaid", 2)))
    block = b.op("add", cx.field("ctaid", 0), b.op("mul", cx.field("nctaid", 0), plane))
    of_block = b.op("urem", block, b.get(launch, LAUNCH, "sm_span"))
    at = b.op("mul", b.resize(b.op("add", of_worker, of_block), "i64"), constant("i64", 4))
    return b.load("i32", b.offset(b.get(launch, LAUNCH, "sm_numbers"), at))


def _slot(cx: Lowering) -> Value:
    """%warpid: the warp's slot on its multiprocessor. That is its number in its block where the block is the first one
    there; where lanes take turns in reverse the block has the last slots, from the end.
    """
    b, number = cx.b, cx.field("warp")
    back = b.compare("ne", b.get(cx.field("launch"), LAUNCH, "lanes_back"), constant("i32", 0))
    return b.select(back, b.op("sub", constant("i32", _FIXED["nwarpid"] - 1), number), number)


def _reserved(cx: Lowering, name: str) -> Value:
    """Where the system's shared memory is, or its size (`cap`). Nobody writes it before cooperative groups use it."""
    start, size = cx.program.shared[RESERVED], RESERVED_BYTES
    if cx.program.observer.observes:
        where = vector_constant("i32", [start] * LANES)
        cx.b.call("void", "gs_unset_shared_store", cx.warp, constant("i32", 1), where, constant("i32", size))
    return constant("i32", {"end": start + size, "cap": size}.get(name.rpartition("_")[2], start))


def _time(cx: Lowering, name: str) -> Value:
    now = cx.b.call("i64", "llvm.readcyclecounter")
    if name in ("clock64", "globaltimer"):
        return now
    return cx.b.resize(cx.b.op("lshr", now, constant("i64", 32)) if name.endswith("_hi") else now, "i32")


def linear_base(cx: Lowering, register: Special) -> Value:
    """The lane 0 value of a register with a linear form."""
    if register.name == "laneid":
        return constant("i32", 0)
    if register.name != "tid":
        return uniform_special(cx, register)
    if register.component == "w":
        return constant("i32", 0)
    axis = _AXES[register.component or "x"]
    zero = {"line": (1, 2), "tile": (0, 2)}.get(cx.shape.kind, ())
    return constant("i32", 0) if axis in zero else cx.field("tid", axis)


def lane_special(cx: Lowering, register: Special) -> Value:
    """A special register that differs between lanes, as a vector."""
    name = register.name
    form = cx.linear(register, 32)
    if form is not None:
        return spread(cx.b, form)
    if name == "tid":
        axis = _AXES[register.component or "x"]
        return cx.b.load(wide("i32"), cx.b.offset(cx.field("tids"), 4 * LANES * axis), align=4)
    return vector_constant("i32", [_MASKS[name](i) for i in affine.LANE])


def cluster(cx: Lowering) -> Value:
    """The record of the block's cluster."""
    return cx.b.get(cx.field("block"), BLOCK, "cluster")


def rank(cx: Lowering) -> Value:
    return cx.b.get(cx.field("block"), BLOCK, "rank")


def cluster_special(cx: Lowering, register: Special) -> Value:
    """%clusterid, %cluster_ctarank and the like: the same in all lanes."""
    b, name, launch = cx.b, register.name, cx.field("launch")
    if register.component == "w":
        return constant("i32", int(name.startswith("n") or name == "cluster_nctaid"))
    axis = "xyz".index(register.component or "x")
    if name == "cluster_ctarank":
        return rank(cx)
    if name == "cluster_nctarank":
        return b.get(cluster(cx), CLUSTER, "size")
    if name == "is_explicit_cluster":
        return b.get(launch, LAUNCH, "explicit_cluster")
    if name == "clusterid":
        return b.get(cluster(cx), CLUSTER, "index", axis)
    shape = b.get(launch, LAUNCH, "cluster", axis)
    if name == "cluster_nctaid":
        return shape
    if name == "nclusterid":
        return b.op("udiv", cx.field("nctaid", axis), shape)
    assert name == "cluster_ctaid", name
    return b.op("urem", cx.field("ctaid", axis), shape)
