"""A kernel and the device functions it reaches, as one LLVM module, and the tables that the machine needs beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.errors import UnsupportedInstruction, source_name
from gridstride.virtual.ir.builder import IrModule, Value, constant, wide
from gridstride.virtual.lowering.analysis.cluster_use import knows_clusters
from gridstride.virtual.lowering.analysis.generic_windows import makes_generic
from gridstride.virtual.lowering.call_graph import DEVICE_RUNTIME, reachable
from gridstride.virtual.lowering.frame_layout import (
    local_depth,
    local_frame,
    machine_frame,
    parameter_layout,
    shared_arrays,
    shared_layout,
)
from gridstride.virtual.lowering.observer import Observer
from gridstride.virtual.lowering.source_sites import SourceLines, SourceSite
from gridstride.virtual.ptx.module import Function, Instruction, PtxModule, Symbol

if TYPE_CHECKING:
    from gridstride.virtual.lowering.access import Access
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.lowering.outlined import AccessForm

Emitter = Callable[["Lowering", Instruction], None]
"""Writes an instruction of one opcode."""


@dataclass(slots=True)
class Lowered:
    """The result: LLVM IR text of `kernel`, and what to know to launch it."""

    ir: str
    lines: int
    """Lines of IR to optimise: functions that many places share count as often as they are called."""
    sites: list[SourceSite]
    symbols: list[str]
    static_shared: int
    dynamic_shared: bool
    local_size: int
    waits: bool
    spins: bool
    recursive: bool
    stack: int
    clusters: bool
    launches: bool = False
    splits: bool = False
    calls: frozenset[str] = frozenset()
    frames: dict[str, int] = field(default_factory=dict)
    """Bytes of machine stack that each of the module's functions may take."""


@dataclass(slots=True)
class Scratch:
    """Per-function stack slots and constants that several instructions share."""

    buffers: tuple[Value, Value] | None = None
    limits: dict[tuple[str, int, int], Value] = field(default_factory=dict)
    areas: dict[str, Value] = field(default_factory=dict)
    watch: object = None
    taint: object = None
    pointed_to: Mapping[str, str] | None = None


class Program:
    """Names, tables and helpers that all functions of one kernel share."""

    def __init__(
        self, module: PtxModule, entry: Function, emitters: Mapping[str, Emitter], observer: Observer, stack: int
    ) -> None:
        self.module, self.entry, self.emitters, self.observer = module, entry, emitters, observer
        self.ir = IrModule()
        self.sites: list[SourceSite] = []
        self.symbols: list[str] = []
        self.functions = list(reachable(module, entry))
        self.launches = any(f.name.startswith(DEVICE_RUNTIME) for f in self.functions)
        self.waiting: frozenset[str] = frozenset()
        """Functions that stayed functions and may hold lanes back."""
        self.numbers = {f.name: i for i, f in enumerate(module.functions.values())}
        self.frames = {f.name: local_frame(f) for f in self.functions}
        self.recursive, depth = local_depth(module, entry, self.frames, stack)
        self.local_size = -(-depth // 16) * 16
        self.callee_frame = max((machine_frame(f) for f in self.functions if f.kind == "func"), default=0)
        self.shared, self.static_shared, self.dynamic_shared = shared_layout(module, self.functions, reserve=True)
        self.shared_arrays = shared_arrays(module, self.functions, self.shared)
        """Start and bytes of each shared variable, 0 where the launch says how many."""
        self.access_functions: dict[AccessForm, tuple[str, int]] = {}
        """The functions that accesses of one form share: name, and bytes that one check covers."""
        self._scratch: dict[str, Scratch] = {}
        self.clusters = knows_clusters(self.functions)
        self.generic_shared = makes_generic(self.functions)
        self.source = SourceLines(module, entry)

    def callable_with(self, count: int) -> list[Function]:
        """The device functions with so many arguments and results: what a pointer may stand for."""
        return [
            f for f in self.functions
            if f.kind == "func" and f.defined and len(f.params) + len(f.returns) == count
        ]  # fmt: skip

    # -- sites --------------------------------------------------------------------------------------------------------
    def site(self, cx: Lowering, access: Access | None = None) -> int:
        """A new number for the current instruction."""
        return self.site_of(cx, cx.ins, access)

    def site_of(self, cx: Lowering, ins: Instruction, access: Access | None = None) -> int:
        """A new number for another instruction of the function."""
        space, size = (access.space, access.bytes) if access else ("", 0)
        site, called = self.source.of(cx.function, ins), self.source.caller(ins.loc)
        self.sites.append(SourceSite(cx.function.name, ins.name, ins.ptx_line, site, space, size, size, called))
        return len(self.sites) - 1

    def site_of_loop(self, cx: Lowering, index: int) -> int:
        """A site for a loop's way back: its last instruction that has a source line."""
        block = cx.code.blocks[index]
        located = [
            ins for ins in block if ins.loc is not None and (self.source.in_own_file(ins.loc) or ("", 0))[1]
        ] or block
        self.sites.append(
            SourceSite(cx.function.name, "loop", located[-1].ptx_line, self.source.in_own_file(located[-1].loc))
        )
        return len(self.sites) - 1

    def widen(self, site: int, span: int) -> None:
        """Says how many bytes one check of a site covers."""
        self.sites[site].span = max(self.sites[site].span, span)

    # -- errors -------------------------------------------------------------------------------------------------------
    def unsupported(self, function: Function, ins: Instruction, what: str) -> UnsupportedInstruction:
        location = self.source.in_own_file(ins.loc)
        where = f"{location[0]}:{location[1]}: " if location else ""
        which = f"`{ins.name}`, PTX line {ins.ptx_line}, in {source_name(function.name)}"
        return UnsupportedInstruction(
            f"{where}the virtual GPU does not have {what} ({which})",
            opcode=ins.opcode,
            ptx_line=ins.ptx_line,
            file=location[0] if location else None,
            line=location[1] if location else None,
        )

    # -- addresses ----------------------------------------------------------------------------------------------------
    def address_of(self, cx: Lowering, symbol: Symbol) -> Value:
        """The address that naming a variable, parameter or function gives, as an i64."""
        name = self.module.aliases.get(symbol.name, symbol.name)
        b = cx.b
        if name in self.shared:
            return constant("i64", self.shared[name] + symbol.offset)
        local = self.frames[cx.function.name][0].get(name)
        if local is not None:
            base = constant("i64", local + symbol.offset)
            return base if cx.code.entry else b.op("add", b.resize(Value("%frame", "i32"), "i64"), base)
        if name in self.numbers:
            return constant("i64", FUNCTION_BASE + 16 * self.numbers[name])
        offset = {p.name: o for p, o in parameter_layout(self.entry.params)}.get(name)
        if offset is not None and cx.code.entry:
            params = cx.field("params")
            base = b.define("i64", f"ptrtoint ptr {params.name} to i64")
            return b.op("add", base, constant("i64", offset + symbol.offset))
        if name not in self.module.variables and name not in cx.function.variables:
            raise cx.unsupported(f"the address of `{name}`")
        return b.op("add", self._global(cx, name), constant("i64", symbol.offset))

    def _global(self, cx: Lowering, name: str) -> Value:
        key = name if name in self.module.variables else f"{cx.function.name}/{name}"
        if key not in self.symbols:
            self.symbols.append(key)
        return cx.b.load("i64", cx.b.offset(cx.field("table"), 8 * self.symbols.index(key)))

    def shared_limit(self, cx: Lowering, span: int, align: int) -> Value:
        """How many aligned places an access of `span` bytes has in shared memory, as an i32."""
        shift = align.bit_length() - 1
        if not self.dynamic_shared:
            return constant("i32", max(0, (self.static_shared - span >> shift) + 1))
        return self._limit(cx, ("shared", span, shift), cx.field("shared_size"))

    def local_limit(self, cx: Lowering, size: int) -> Value:
        """The same for a lane's local memory."""
        return constant("i32", max(0, (self.local_size - size >> size.bit_length() - 1) + 1))

    def _limit(self, cx: Lowering, key: tuple[str, int, int], extent: Value) -> Value:
        limits = self.scratch_of(cx).limits
        if key not in limits:
            _, span, shift = key
            b = cx.b
            narrow, room, more, fits, limit = (b.fresh(t) for t in ("i32", "i32", "i32", "i1", "i32"))
            down = b.fresh("i32")
            b.entry += [
                f"  {narrow.name} = trunc i64 {extent.name} to i32",
                f"  {room.name} = sub i32 {narrow.name}, {span}",
                f"  {down.name} = lshr i32 {room.name}, {shift}",
                f"  {more.name} = add i32 {down.name}, 1",
                f"  {fits.name} = icmp uge i32 {narrow.name}, {span}",
                f"  {limit.name} = select i1 {fits.name}, i32 {more.name}, i32 0",
            ]
            limits[key] = limit
        return limits[key]

    def local_stride(self, cx: Lowering) -> Value:
        """Bytes from one lane's local memory to the next lane's."""
        return constant("i64", self.local_size)

    def window(self, cx: Lowering, space: str) -> tuple[Value, Value]:
        """Start and size of the block's shared or the warp's local memory as generic addresses."""
        size = cx.field("shared_size") if space == "shared" else constant("i64", self.local_size * LANES)
        return cx.field(space), size

    def scratch_of(self, cx: Lowering) -> Scratch:
        return self._scratch.setdefault(cx.function.name, Scratch())

    def scratch(self, cx: Lowering) -> tuple[Value, Value]:
        """Buffers for the addresses and the values of one slow access."""
        own = self.scratch_of(cx)
        if own.buffers is None:
            own.buffers = (cx.b.alloca(wide("i64"), align=64), cx.b.alloca(f"[{32 * LANES} x i8]", align=64))
        return own.buffers
