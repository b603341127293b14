"""Which lanes of an access are in their block's shared memory, and where: those of a generic one may all be, or some.

What such lanes do is held against the shadows of shared memory as if the instruction had named the space.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import ordered, remote
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.observed.global_accesses import checks_value


@dataclass(frozen=True, slots=True)
class SharedLanes:
    """A mask of lanes and their offsets in shared memory (32 × i32). `mixed`: the mask is known at run time alone."""

    mask: Value
    offsets: Value
    mixed: bool

    @contextmanager
    def some(self, cx: Lowering) -> Iterator[None]:
        """Runs the code of its body where there are such lanes."""
        if not self.mixed:
            yield
            return
        with cx.b.if_(cx.b.compare("ne", self.mask, constant("i32", 0))):
            yield


def shared_lanes(cx: Lowering, access: Access, addresses: Value) -> SharedLanes | None:
    """The lanes of an access that are in shared memory of their own block; None where it cannot be there."""
    if access.space == "shared" and not remote(cx.ins):
        return SharedLanes(cx.active(), addresses, mixed=False)
    return in_window(cx, addresses) if may_be_shared(cx, access.space) else None


def in_window(cx: Lowering, addresses: Value) -> SharedLanes:
    """The lanes whose generic address is in shared memory of their block."""
    b = cx.b
    distance = b.op("sub", b.resize(addresses, "i64"), b.splat(cx.field("shared")))
    inside = b.bitcast(b.compare("ult", distance, b.splat(cx.field("shared_size"))), "i32")
    return SharedLanes(b.op("and", cx.active(), inside), b.resize(distance, "i32"), mixed=True)


def may_be_shared(cx: Lowering, space: str) -> bool:
    """Whether an access is generic and may be one to shared memory: most kernels have no such addresses."""
    return space == "generic" and cx.program.generic_shared


def watch_generic(cx: Lowering, shared: SharedLanes, site: int, access: Access, kind: str) -> None:
    """Holds lanes of a generic access against other warps, and against copies; `kind` as in Counting.access."""
    b = cx.b
    if kind in ("atom", "red"):
        name = f"gs_race_{'checked' if checks_value(cx.ins) else 'atomic'}"
    elif ordered(cx.ins):
        return  # these order, and do not race
    else:
        name = f"gs_shared_{kind}"
    b.call("void", name, cx.warp, constant("i32", site), shared.mask, shared.offsets, constant("i32", access.bytes))


def show_offsets(cx: Lowering, shared: SharedLanes, addresses: Value) -> None:
    """Where a store that is shown to the race detector (silent_stores.py) writes: for these lanes, their offsets."""
    b, (where, _) = cx.b, cx.program.scratch(cx)
    lanes = b.bitcast(shared.mask, wide("i1"))
    b.store(b.select(lanes, b.resize(shared.offsets, "i64"), b.resize(addresses, "i64")), where)
