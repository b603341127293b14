"""The observed build: counts what every block and every access does, and feeds the race detector."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gridstride.virtual.lowering import unset
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import bits_of
from gridstride.virtual.lowering.around import goes_around
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import ordered, vector_address
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.lowering.members import check_members
from gridstride.virtual.lowering.taint import Taint
from gridstride.virtual.machine.layout import FAULT, LANES, WARP
from gridstride.virtual.ptx.module import Address, Instruction, LabelRef, Operand, Symbol

ACCESS_COUNTERS = ("requests", "sectors", "lines", "wavefronts", "ideal", "lanes")
"""Per site, in this order. `ideal`: the wavefronts (shared) or sectors (global) that the bytes need at least."""

BLOCK_COUNTERS = ("warps", "lanes")


class Counting:
    """Gives every basic block and every access its counters, and remembers what they stand for."""

    def __init__(self, *, lanes: bool = False) -> None:
        self.lanes = lanes
        """Whether lanes of one warp are checked against one another."""
        self.blocks: list[dict[str, Any]] = []
        self.accesses: dict[int, dict[str, Any]] = {}
        self.size = 0
        self.unit = 4
        """Bytes of shared memory that share one entry of the race detector's shadow."""
        self._taints: dict[int, Taint] = {}
        self.allocates = False
        """Whether the kernel calls malloc."""

    def tables(self) -> dict[str, Any]:
        """What Python needs to turn the counters into lines."""
        accesses = [{"site": site, **a} for site, a in self.accesses.items()]
        told = {"size": self.size, "unit": self.unit, "allocates": self.allocates}
        return {"blocks": self.blocks, "accesses": accesses, **told}

    def _take(self, count: int) -> int:
        self.size += count
        return self.size - count

    def block(self, cx: Lowering, index: int) -> None:
        """Counts executions and active lanes of a block; instructions follow from its text."""
        at = self._take(len(BLOCK_COUNTERS))
        block = cx.code.blocks[index]
        self.allocates |= any(i.opcode == "call" and Symbol("malloc") in i.operands for i in block)
        kinds: Counter[tuple[str | None, int | None, str]] = Counter()
        for ins in filter(written, block):
            place = cx.program.place(ins.loc)
            kinds[(*(place or (None, None)), kind_of(ins))] += 1
        lines = [{"file": f, "line": n, "kind": k, "count": c} for (f, n, k), c in kinds.items()]
        self.blocks.append({"at": at, "lines": lines})
        b = cx.b
        observed = b.resize(cx.field("observed"), "i64")
        lanes = b.call("i32", "llvm.ctpop.i32", cx.current_mask())
        counter = b.offset(cx.field("counters"), 8 * at)
        b.store(b.op("add", b.load("i64", counter), observed), counter)
        counter = b.offset(counter, 8)
        b.store(b.op("add", b.load("i64", counter), b.op("mul", b.resize(lanes, "i64"), observed)), counter)

    def access(self, cx: Lowering, site: int, access: Access, address: Address, kind: str) -> None:
        """Counts a load, store, atom or red (`kind`) or cp.async ("async"); shared ones are checked for races."""
        if access.space not in ("global", "shared", "generic", "const"):
            return
        at = self._take(len(ACCESS_COUNTERS))
        place = cx.program.place(cx.ins.loc)
        file, line = place or (None, None)
        self.accesses[site] = {"at": at, "file": file, "line": line, "space": access.space, "kind": kind,
                               "bytes": access.bytes, "name": cx.ins.name}  # fmt: skip
        if access.space == "shared":
            self.unit = min(self.unit, access.size)
        b = cx.b
        with cx.aside(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
            addresses = vector_address(cx, address, access.space)
            where, size = (constant("i64", 8 * at), constant("i32", site)), constant("i32", access.bytes)
            self._within_warp(cx, site, access, kind, addresses)
            if cx.code.spin_edges and (ordered(cx.ins) or kind == "atom"):
                self._polls(cx, site, access, addresses)
            name = f"gs_observe_{_watched(cx, access, kind)}"
            result = "i32" if name == "gs_observe_shared_load" else "void"
            looks = b.call(result, name, cx.warp, *where, cx.active(), addresses, size)
            if result == "i32":
                unset.look(cx, self._taint_of(cx), site, access, addresses, looks)
        self.touch(cx, site, access, address, kind)

    def _polls(self, cx: Lowering, site: int, access: Access, addresses: Value) -> None:
        """Where a loop looks for what it waits for, to be told if the launch must be stopped."""
        b = cx.b
        lane = b.call("i32", "llvm.cttz.i32", cx.active(), constant("i1", False))
        where = b.resize(b.extract(addresses, b.op("and", lane, constant("i32", LANES - 1))), "i64")
        if access.space == "shared":
            where = b.op("add", where, cx.field("shared"))
        b.put(cx.warp, WARP, "polled", where)
        b.put(cx.warp, WARP, "polled_site", site)

    def _within_warp(self, cx: Lowering, site: int, access: Access, kind: str, addresses: Value) -> None:
        if not self.lanes or access.space != "shared":
            return
        if kind in ("atom", "red") or (ordered(cx.ins) and "volatile" not in cx.ins.modifiers):
            cx.b.call("void", "gs_lanes_sync", cx.warp)
        elif kind in ("load", "store"):
            size = constant("i32", access.bytes)
            cx.b.call("void", f"gs_lanes_{kind}", cx.warp, constant("i32", site), cx.active(), addresses, size)

    def touch(self, cx: Lowering, site: int, access: Access, address: Address, kind: str) -> None:
        """Checks that what is read was written; of accesses that are counted elsewhere, too."""
        unset.touch(cx, self._taint_of(cx), site, access, address, kind)

    def local(self, cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None:
        """The same for local memory."""
        unset.local(cx, self._taint_of(cx), site, offsets, access, kind)

    def before(self, cx: Lowering, ins: Instruction) -> None:
        """Ahead of each instruction: follows values that mean nothing."""
        if self.lanes and ("sync" in ins.modifiers or ins.opcode in _MEETING):
            cx.b.call("void", "gs_lanes_sync", cx.warp)
        taint = self._taint_of(cx)
        if not taint.idle:
            taint.before(cx, ins)

    def branch(self, cx: Lowering) -> None:
        """Ahead of a branch that depends on its guard."""
        self._taint_of(cx).branch(cx)

    def members(self, cx: Lowering, members: Value) -> None:
        """A .sync instruction: those whom its mask names are here."""
        check_members(cx, members)

    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None:
        """A shuffle, and which lane each lane reads."""
        self._taint_of(cx).shuffled(cx, sources, members)

    def _taint_of(self, cx: Lowering) -> Taint:
        if id(cx) not in self._taints:
            self._taints[id(cx)] = Taint(cx)
        return self._taints[id(cx)]

    def storing(self, cx: Lowering, access: Access, address: Address, items: tuple[Operand, ...], type_: str) -> None:
        """Ahead of `access` for a plain store to shared memory: what it writes, for the race detector."""
        if access.space != "shared" or ordered(cx.ins):
            return
        b = cx.b
        with cx.aside(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
            where, values = cx.program.scratch(cx)
            b.store(b.resize(vector_address(cx, address, access.space), "i64"), where)
            for j, item in enumerate(items):
                b.store(cx.vector(item, type_), b.offset(values, access.size * LANES * j), align=access.size)
            b.call("void", "gs_race_storing", cx.warp, where, values, constant("i32", access.size))

    def sync(self, cx: Lowering) -> None:
        """At an atomic, an ordered access or a fence: the warp knows what others released before."""
        if {"proxy", "async"} <= set(cx.ins.modifiers):
            cx.b.call("void", "gs_proxy_fence", cx.warp)
        cx.b.call("void", "gs_race_sync", cx.warp)

    def barrier(self, cx: Lowering, index: int, site: int, pending: list[Value]) -> None:
        """An aligned barrier that lanes of the same warp have gone past, other than by returning, is a finding."""
        b = cx.b
        if self.lanes:
            b.call("void", "gs_lanes_sync", cx.warp)
        if "aligned" not in cx.ins.modifiers:
            return  # barrier.sync, as cooperative groups write it, lets each lane come on its own
        # Lanes in an earlier block, as those of a loop that waits for another thread, may still come here.
        waiting = [f for f in bits_of(cx.facts.frontier[index]) if f > index and goes_around(cx.code, index, f)]
        if not waiting:
            return
        missing = b.load("i32", pending[waiting[0]])
        for f in waiting[1:]:
            missing = b.op("or", missing, b.load("i32", pending[f]))
        with b.if_(b.compare("ne", missing, constant("i32", 0))):
            lane = b.call("i32", "llvm.cttz.i32", missing, constant("i1", True))
            mine = b.call("i32", "llvm.cttz.i32", cx.current_mask(), constant("i1", True))
            who = b.op("or", b.op("shl", cx.field("warp"), constant("i32", 8)), lane)
            kind = constant("i32", FAULT["barrier_divergence"])
            here = constant("i32", site)
            b.call("void", "gs_report", cx.warp, kind, here, mine, here, who, constant("i64", 0))


_MEETING = frozenset("bar barrier mbarrier fence membar atom red shfl vote match redux mma wmma call".split())
"""Opcodes after which lanes may count on what other lanes did before, or on no order at all being meant."""


def _watched(cx: Lowering, access: Access, kind: str) -> str:
    """Which runtime function sees an access. Volatile, acquire, release and atomic ones are how threads tell each other
    something: they order, and do not race.
    """
    if access.space != "shared":
        return "global"
    if kind == "async":
        return "shared_async"
    return f"shared_{kind}" if kind in ("load", "store") and not ordered(cx.ins) else "shared_sync"


def written(ins: Instruction) -> bool:
    """False for what the lowering added for itself: its labels begin with %, which no PTX label does."""
    added = any(isinstance(o, LabelRef) and o.name.startswith("%") for o in ins.operands)
    return not added and ins.opcode != "released"


_KINDS = {
    "memory": "ld ldu st atom red prefetch ldmatrix stmatrix cp",
    "control": "bra brx ret exit call trap",
    "barrier": "bar barrier",
    "tensor": "mma wmma wgmma",
    "special": "sin cos ex2 lg2 rcp rsqrt sqrt tanh",
    "convert": "cvt",
    "move": "mov cvta selp movmatrix",
}
_KIND_OF = {opcode: kind for kind, opcodes in _KINDS.items() for opcode in opcodes.split()}


def kind_of(ins: Instruction) -> str:
    """The class an instruction is counted in: fma, fp32, fp64, integer, memory, special, convert, move,
    control, barrier, tensor."""
    kind = _KIND_OF.get(ins.opcode)
    if kind is not None:
        return kind
    type_ = ins.types[-1] if ins.types else ""
    if type_ in ("f32", "f64"):
        width = "fp32" if type_ == "f32" else "fp64"
        return f"{width}_fma" if ins.opcode in ("fma", "mad") else width
    return "half" if "f16" in type_ else "integer"
