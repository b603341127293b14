"""The observed build: counts what every block and every access does, and feeds the race detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gridstride.virtual.abi.access_counters import COUNTERS
from gridstride.virtual.abi.counter_tables import AccessCounters, BlockCounters, BranchCounter, CounterTables
from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import BLOCK_STRONG
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.latches import counts
from gridstride.virtual.lowering.analysis.memory_operands import ordered, space_of
from gridstride.virtual.lowering.call_graph import DEVICE_RUNTIME
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.addressing import vector_address
from gridstride.virtual.lowering.instructions.warpgroup import warpgroup_watch
from gridstride.virtual.lowering.observed import uninitialised_checks
from gridstride.virtual.lowering.observed.aligned_barriers import watch_barrier
from gridstride.virtual.lowering.observed.array_bounds import watch_array
from gridstride.virtual.lowering.observed.cluster_accesses import in_shared, watch_cluster
from gridstride.virtual.lowering.observed.copy_overlap import overlapped
from gridstride.virtual.lowering.observed.dependency_chains import Chain
from gridstride.virtual.lowering.observed.global_accesses import checks_value, releases, scope_of, watch_global
from gridstride.virtual.lowering.observed.instruction_classes import kind_of, tensor_operations, tensor_type
from gridstride.virtual.lowering.observed.lane_accesses import (
    after_access,
    join_members,
    meet,
    note_poll,
    tell_lanes,
    watch_lanes,
)
from gridstride.virtual.lowering.observed.member_masks import check_members
from gridstride.virtual.lowering.observed.shared_lanes import (
    may_be_shared,
    shared_lanes,
    show_offsets,
    watch_generic,
)
from gridstride.virtual.lowering.observed.taint import Taint
from gridstride.virtual.lowering.observer import Observer, Stored
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Symbol

BLOCK_COUNTERS = ("warps", "lanes")


_ALLOCATING = (Symbol("malloc"), Symbol(f"{DEVICE_RUNTIME}Malloc"))


class Counting(Observer):
    """Gives every basic block and every access its counters, and remembers what they stand for."""

    observes = True

    def __init__(self) -> None:
        self.blocks: list[BlockCounters] = []
        self.accesses: list[AccessCounters] = []
        self.branches: list[BranchCounter] = []
        self.chain = Chain()
        self.overlapped: list[frozenset[int]] = []
        self.size = 0
        self._functions = 0
        self.gives_way = False
        self.unit = 4
        self.global_unit = 16
        """Bytes of shared, and of global memory that share one entry of the race detector's shadow."""
        self.allocates = False
        """Whether the kernel calls malloc."""

    def tables(self) -> CounterTables:
        """What Python needs to turn the counters into lines."""
        return CounterTables(
            blocks=tuple(self.blocks),
            accesses=tuple(self.accesses),
            branches=tuple(self.branches),
            entries=self._entries(),
            size=self.size,
            unit=self.unit,
            global_unit=self.global_unit,
            allocates=self.allocates,
            gives_way=self.gives_way,
        )

    def _entries(self) -> tuple[tuple[int, int], ...]:
        at = {block.place: block.at for block in self.blocks}
        return tuple(
            (at[source], block.at)
            for block in self.blocks
            if block.entered_from is not None and (source := (block.place[0], block.entered_from)) in at
        )

    def _take(self, count: int) -> int:
        self.size += count
        return self.size - count

    def block(self, cx: Lowering, index: int) -> None:
        """Counts executions and active lanes of a block; instructions follow from its text."""
        at = self._take(len(BLOCK_COUNTERS))
        if not index:
            self._functions += 1
            self.chain = Chain()
            self.overlapped = overlapped(cx.code.blocks, cx.code.successors)
        block = [ins for ins in cx.code.blocks[index] if written(ins)]
        self.allocates |= any(i.opcode == "call" and o in _ALLOCATING for i in block for o in i.operands)
        kinds: Counter[tuple[str | None, int | None, str]] = Counter()
        products: Counter[tuple[str | None, int | None, str]] = Counter()
        for ins in block:
            location = cx.program.source.in_own_file(ins.loc) or (None, None)
            kinds[(*location, kind_of(ins))] += 1
            if operations := tensor_operations(ins):
                products[(*location, tensor_type(ins))] += operations
        copying = Counter(
            cx.program.source.in_own_file(ins.loc) or (None, None)
            for position, ins in enumerate(cx.code.blocks[index])
            if position in self.overlapped[index] and written(ins)
        )
        again = index in cx.code.successors[index]
        self.blocks.append(
            BlockCounters(
                at=at,
                place=(self._functions, index),
                entered_from=_only_source(cx, index),
                instructions=len(block),
                lines=tuple((*key, count) for key, count in kinds.items()),
                products=tuple((*key, count) for key, count in products.items()),
                overlapped=tuple((*key, count) for key, count in copying.items()),
                chain=tuple(self.chain.block(block, cx.code.reads, cx.code.writes, again=again)),
            )
        )
        b = cx.b
        observed = b.resize(cx.field("observed"), "i64")
        lanes = b.call("i32", "llvm.ctpop.i32", cx.current_mask())
        counter = b.offset(cx.field("counters"), 8 * at)
        b.store(b.op("add", b.load("i64", counter), observed), counter)
        counter = b.offset(counter, 8)
        b.store(b.op("add", b.load("i64", counter), b.op("mul", b.resize(lanes, "i64"), observed)), counter)

    def branch(self, cx: Lowering, jumps: Value, stays: Value) -> None:
        """Counts a branch that lanes of the same warp leave on different ways."""
        at, (file, line) = self._take(1), cx.program.source.in_own_file(cx.ins.loc) or (None, None)
        self.branches.append(BranchCounter(at, file, line))
        b, zero = cx.b, constant("i32", 0)
        divergent = b.op("and", b.compare("ne", jumps, zero), b.compare("ne", stays, zero))
        split = b.op("and", b.resize(divergent, "i64"), b.resize(cx.field("observed"), "i64"))
        counter = b.offset(cx.field("counters"), 8 * at)
        b.store(b.op("add", b.load("i64", counter), split), counter)

    def access(
        self, cx: Lowering, site: int, access: Access, address: Address | Value, kind: str,
        stored: Stored | Value | None = None,
    ) -> None:  # fmt: skip
        """Counts a load, store, atom or red (`kind`) or a cp.async's sides ("fetch", "async"), and looks for races; for
        those of a cp.async the copy itself does, which knows what it moves. `address`: the operand, or what each lane
        has. `stored`: what a plain store writes, for the race detector, or the image whose i-th row is lane i's.
        """
        if access.space not in ("global", "shared", "generic", "const", "local"):
            return
        at = self._site(cx, access.space, "load" if kind == "fetch" else kind, access.bytes)
        team = cx.program.clusters and in_shared(cx.ins)
        if access.space == "shared" or team or may_be_shared(cx, access.space):
            self.unit = min(self.unit, access.size)
        if access.space not in ("shared", "const") and not team:
            self.global_unit = min(self.global_unit, access.size)
        b, atomic = cx.b, kind in ("atom", "red")
        if atomic:  # an atomic reads what is there before it is known as written
            self.touch(cx, site, access, address, kind)
        with cx.conditional_code(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
            addresses = address if isinstance(address, Value) else vector_address(cx, address, access.space)
            where, size = (constant("i64", 8 * at), constant("i32", site)), constant("i32", access.bytes)
            plain, shared = not ordered(cx.ins), shared_lanes(cx, access, addresses)
            if stored is not None and access.space != "local" and plain:
                _show(cx, access, addresses, stored)
            watch_array(cx, site, access, address, addresses)
            if shared is not None:
                with shared.some(cx):
                    if shared.mixed and stored is not None and plain:
                        show_offsets(cx, shared, addresses)
                    watch_lanes(cx, site, access, kind, shared)
                    if shared.mixed:
                        watch_generic(cx, shared, site, access, kind)
            if stored is not None and access.space not in ("shared", "local") and "volatile" in cx.ins.modifiers:
                _show(cx, access, addresses, stored)
            tell_lanes(cx, access, kind)
            note_poll(cx, site, access, kind, addresses)
            if access.space == "shared" and atomic:
                strong = "checked" if checks_value(cx.ins) else "atomic"
                b.call("void", f"gs_race_{strong}", cx.warp, where[1], cx.active(), addresses, size)
            name = f"gs_observe_{_watched(cx, access, 'load' if kind == 'fetch' else kind)}"
            result = "i32" if name == "gs_observe_shared_load" else "void"
            strength = () if access.space not in ("global", "generic") else (watch_global(cx, kind),)
            looks = b.call(result, name, cx.warp, *where, cx.active(), addresses, size, *strength)
            if shared is not None and shared.mixed and atomic:
                with shared.some(cx):  # as gs_observe_shared_atomic
                    b.call("void", "gs_race_sync", cx.warp)
            after_access(cx, kind)
            if team and kind != "async":
                watch_cluster(cx, site, access, addresses, kind)
            if result == "i32":
                uninitialised_checks.look(cx, site, access, addresses, looks)
        if not atomic:
            self.touch(cx, site, access, address, kind)

    def touch(self, cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
        """Checks that what is read was written; of accesses that are counted elsewhere, too."""
        uninitialised_checks.touch(cx, site, access, address, kind)

    def local(self, cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None:
        """The same for local memory."""
        uninitialised_checks.local(cx, site, offsets, access, kind)

    def guarded(self, cx: Lowering) -> None:
        """Ahead of a branch that depends on its guard."""
        Taint.of(cx).branch(cx)

    def members(self, cx: Lowering, members: Value) -> None:
        """A .sync instruction: those whom its mask names are here."""
        check_members(cx, members)
        join_members(cx, members)

    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None:
        """A shuffle, and which lane each lane reads."""
        Taint.of(cx).shuffled(cx, sources, members)

    def bulk(self, cx: Lowering, name: str, *values: Value) -> None:
        """Counts a bulk copy's side in global memory: gs_count_NAME(warp, at, mask, *values)."""
        at, b = self._site(cx, "bulk", name, 0), cx.b
        with cx.conditional_code(), b.if_(b.compare("ne", cx.field("observed"), constant("i32", 0))):
            b.call("void", f"gs_count_{name}", cx.warp, constant("i64", 8 * at), cx.active(), *values)

    def _site(self, cx: Lowering, space: str, kind: str, size: int) -> int:
        """The counters of an access; one through a generic address has some for each space."""
        at = self._take(len(COUNTERS) * (3 if space == "generic" else 1))
        file, line = cx.program.source.in_own_file(cx.ins.loc) or (None, None)
        self.accesses.append(AccessCounters(at, file, line, space, kind, size, cx.ins.opcode, _merged(cx, kind)))
        return at

    def sync(self, cx: Lowering) -> None:
        """At a fence: what the warp has done is released, to its block or to all."""
        if {"proxy", "async"} <= set(cx.ins.modifiers):
            cx.b.call("void", "gs_proxy_fence", cx.warp)
        name = "release" if scope_of(cx.ins) == BLOCK_STRONG or "shared::cta" in cx.ins.modifiers else "fence"
        cx.b.call("void", f"gs_race_{name}", cx.warp)
        cx.b.call("void", "gs_lanes_fence", cx.warp, cx.active())
        if _waits_relaxed(cx):  # what such a wait has seen a fence behind it acquires
            cx.b.call("void", "gs_race_sync", cx.warp)

    def acquired(self, cx: Lowering) -> None:
        """After an atomic, or a load that sees others' writes; one of shared memory has told its block already."""
        space = space_of(cx.ins)
        if space == "generic" and ordered(cx.ins):  # it may have been shared memory after all
            cx.b.call("void", "gs_race_heard" if cx.ins.opcode == "ld" else "gs_race_sync", cx.warp)
        elif cx.program.clusters:
            cx.b.call("void", "gs_team_learn", cx.warp)
        if space != "shared":
            cx.b.call("void", "gs_race_acquire", cx.warp)
        self._give_way(cx)

    def signalled(self, cx: Lowering) -> None:
        """After a store that may tell others something: a fence that comes only now has ordered nothing for them."""
        self._give_way(cx, "_long")

    def _give_way(self, cx: Lowering, how: str = "") -> None:
        """Another warp may come in here (gs_give_way)."""
        self.gives_way = True
        b = cx.b
        with b.if_(b.compare("ne", cx.active(), constant("i32", 0))):
            b.put(cx.warp, WARP, "site", cx.program.site(cx))
            b.call("void", f"gs_give_way{how}", cx.warp)

    def before(self, cx: Lowering, ins: Instruction) -> None:
        """Ahead of each instruction: looks at registers of wgmma in flight, and follows values that mean nothing."""
        warpgroup_watch.before(cx, ins)
        meet(cx, ins)
        Taint.of(cx).before(cx, ins)

    def barrier(
        self, cx: Lowering, index: int, site: int, pending: Sequence[Value], gates: Mapping[int, Value]
    ) -> None:  # fmt: skip
        """Ahead of a barrier: do all lanes of the warp come to it?"""
        watch_barrier(cx, index, site, pending, gates)


def _waits_relaxed(cx: Lowering) -> bool:
    """Whether the function waits at an mbarrier without acquiring."""
    waits = (ins for block in cx.code.blocks for ins in block if ins.opcode == "mbarrier")
    return any("relaxed" in ins.modifiers and not {"test_wait", "try_wait"}.isdisjoint(ins.modifiers) for ins in waits)


def _only_source(cx: Lowering, index: int) -> int | None:
    """The block that ends in a branch to this one, or past it, where no other leads here."""
    sources = [source for source, targets in enumerate(cx.code.successors) if index in targets]
    return sources[0] if len(sources) == 1 and len(set(cx.code.successors[sources[0]])) > 1 else None


def _show(cx: Lowering, access: Access, addresses: Value, stored: Stored | Value) -> None:
    """Shows the race detector what is about to be written."""
    b, (where, values) = cx.b, cx.program.scratch(cx)
    b.store(b.resize(addresses, "i64"), where)
    if isinstance(stored, Value):
        values = stored
    else:
        for j, item in enumerate(stored.items):
            b.store(cx.vector(item, stored.type), b.offset(values, access.size * LANES * j), align=access.size)
    b.call("void", "gs_race_storing", cx.warp, where, values, constant("i32", access.size))


def _watched(cx: Lowering, access: Access, kind: str) -> str:
    """Which runtime function sees an access. Volatile, acquire, release and atomic ones are how threads tell each other
    something: they order, and do not race.
    """
    if access.space in ("const", "local"):
        return access.space
    if access.space != "shared":
        return f"{access.space}_{_way(cx.ins, kind)}"
    if kind == "async":
        return "shared_async"
    if kind in ("atom", "red") and not _counts_up(cx.ins):
        return "shared_atomic"
    if kind in ("load", "store") and not ordered(cx.ins):
        return f"shared_{kind}"
    if kind == "load":
        return "shared_heard"
    return "shared_sync" if kind != "store" or releases(cx.ins) else "shared_told"


def _counts_up(ins: Instruction) -> bool:
    """atomicAdd(…, 1): the hardware counts the lanes of a word."""
    value = ins.operands[-1]
    return (
        "add" in ins.modifiers and ins.types[-1] in ("u32", "s32") and isinstance(value, Immediate) and value.bits == 1
    )


def _merged(cx: Lowering, kind: str) -> bool:
    """Whether ptxas adds up the warp first and has one lane do the atomic: integers, one address, no old value read."""
    where = next((o for o in cx.ins.operands if isinstance(o, Address)), None)
    is_full_word = bool(cx.ins.types) and cx.ins.types[-1] in ("u32", "s32", "b32")
    return kind == "red" and is_full_word and where is not None and cx.uniform(where.base)


def _way(ins: Instruction, kind: str) -> str:
    """How an access of global memory goes through L1."""
    if kind in ("atom", "red"):
        return "atomic"
    passes = ordered(ins) or not {"cg", "cv"}.isdisjoint(ins.modifiers)
    return "bypass" if kind == "load" and passes else kind


def written(ins: Instruction) -> bool:
    """False for what the lowering added for itself."""
    return counts(ins) and ins.opcode != "released"
