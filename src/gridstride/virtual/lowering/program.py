"""A kernel and the device functions it reaches, as one LLVM module, and the tables that the machine needs beside it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.abi.layout import LANES
from gridstride.virtual.errors import UnsupportedInstruction, source_name
from gridstride.virtual.ir.builder import Module as IrModule
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering.analysis.cluster_use import knows_clusters
from gridstride.virtual.ptx.module import (
    Address,
    Function,
    Instruction,
    Module,
    SourceLocation,
    Special,
    Symbol,
    Variable,
)
from gridstride.virtual.ptx.types import TYPES

if TYPE_CHECKING:
    from gridstride.virtual.lowering.access import Access
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.lowering.outlined import Form
    from gridstride.virtual.ptx.module import Operand

Emitter = Callable[["Lowering", Instruction], None]
"""Writes an instruction of one opcode."""


DEVICE_RUNTIME = "__cudaCDP2"
"""How the names of the device runtime's functions start: a kernel that reaches one may launch others."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a plain store writes: operands of one PTX type."""

    items: tuple[Operand, ...]
    type: str


class Observer(Protocol):
    """What an observed build adds to a kernel; the fast build adds nothing."""

    def block(self, cx: Lowering, index: int) -> None: ...
    def access(
        self,
        cx: Lowering,
        site: int,
        access: Access,
        address: Address | Value,
        kind: str,
        stored: Stored | Value | None = None,
    ) -> None: ...
    def touch(self, cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None: ...
    def local(self, cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None: ...
    def guarded(self, cx: Lowering) -> None: ...
    def branch(self, cx: Lowering, taken: Value, rest: Value) -> None: ...
    def members(self, cx: Lowering, members: Value) -> None: ...
    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None: ...
    def bulk(self, cx: Lowering, name: str, *values: Value) -> None: ...
    def sync(self, cx: Lowering) -> None: ...
    def acquired(self, cx: Lowering) -> None: ...
    def signalled(self, cx: Lowering) -> None: ...
    def barrier(
        self, cx: Lowering, index: int, site: int, pending: Sequence[Value], gates: Mapping[int, Value]
    ) -> None: ...
    def before(self, cx: Lowering, ins: Instruction) -> None: ...


class NullObserver:
    """The fast build's observer."""

    def block(self, cx: Lowering, index: int) -> None:
        """Adds nothing."""

    def access(
        self,
        cx: Lowering,
        site: int,
        access: Access,
        address: Address | Value,
        kind: str,
        stored: Stored | Value | None = None,
    ) -> None:
        """Adds nothing."""

    def touch(self, cx: Lowering, site: int, access: Access, address: Address | Value, kind: str) -> None:
        """Adds nothing."""

    def local(self, cx: Lowering, site: int, offsets: Value, access: Access, kind: str) -> None:
        """Adds nothing."""

    def guarded(self, cx: Lowering) -> None:
        """Adds nothing."""

    def branch(self, cx: Lowering, taken: Value, rest: Value) -> None:
        """Adds nothing."""

    def members(self, cx: Lowering, members: Value) -> None:
        """Adds nothing."""

    def shuffled(self, cx: Lowering, sources: Value, members: Value) -> None:
        """Adds nothing."""

    def bulk(self, cx: Lowering, name: str, *values: Value) -> None:
        """Adds nothing."""

    def sync(self, cx: Lowering) -> None:
        """Adds nothing."""

    def acquired(self, cx: Lowering) -> None:
        """Adds nothing."""

    def signalled(self, cx: Lowering) -> None:
        """Adds nothing."""

    def barrier(
        self, cx: Lowering, index: int, site: int, pending: Sequence[Value], gates: Mapping[int, Value]
    ) -> None:  # fmt: skip
        """Adds nothing."""

    def before(self, cx: Lowering, ins: Instruction) -> None:
        """Adds nothing."""


@dataclass(slots=True)
class Site:
    """A place in the code that can fault or that is counted."""

    function: str
    name: str
    ptx_line: int
    place: tuple[str, int] | None
    space: str = ""
    bytes: int = 0
    span: int = 0
    called: int = 0  # the line that the function with this place was called from, where it was inlined; else 0
    array: tuple[str, int, int] | None = None  # the shared array that its addresses are made from: name, start, bytes


@dataclass(slots=True)
class Lowered:
    """The result: LLVM IR text of `kernel`, and what to know to launch it."""

    ir: str
    lines: int
    """Lines of IR to optimise: functions that many places share count as often as they are called."""
    sites: list[Site]
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


def parameter_layout(params: tuple[Variable, ...]) -> list[tuple[Variable, int]]:
    """Kernel parameters with their offsets, each aligned as it asks."""
    placed, end = [], 0
    for p in params:
        end = -(-end // p.align) * p.align
        placed.append((p, end))
        end += p.size
    return placed


class Program:
    """Names, tables and helpers that all functions of one kernel share."""

    def __init__(self, module: Module, entry: Function, emitters: Mapping[str, Emitter], observer: Observer) -> None:
        self.module, self.entry, self.emitters, self.observer = module, entry, emitters, observer
        self.ir = IrModule()
        self.sites: list[Site] = []
        self.symbols: list[str] = []
        self.functions = list(_reachable(module, entry))
        self.launches = any(f.name.startswith(DEVICE_RUNTIME) for f in self.functions)
        self.waiting: frozenset[str] = frozenset()
        """Functions that stayed functions and may hold lanes back."""
        self.numbers = {f.name: i for i, f in enumerate(module.functions.values())}
        self.frames = {f.name: _frame(f) for f in self.functions}
        self.recursive, depth = _depth(self, module, entry)
        self.local_size = -(-depth // 16) * 16
        self.callee_frame = max((machine_frame(f) for f in self.functions if f.kind == "func"), default=0)
        self.shared, self.static_shared, self.dynamic_shared = _shared_layout(module, self.functions, reserve=True)
        self.shared_arrays = _shared_arrays(module, self.functions, self.shared)
        """Start and bytes of each shared variable, 0 where the launch says how many."""
        self.access_functions: dict[Form, tuple[str, int]] = {}
        """The functions that accesses of one form share: name, and bytes that one check covers."""
        self._scratch: dict[str, Scratch] = {}
        self._before: dict[str, dict[int, tuple[str, int] | None]] = {}
        """By function, and line of its PTX: the last place in the source up to there."""
        self.clusters = knows_clusters(self.functions)
        self._own_file = next((i.loc.outermost.file for i in entry.instructions if i.loc is not None), 0)

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
        place, called = self._stands(cx, ins), self._called(ins.loc)
        self.sites.append(Site(cx.function.name, ins.name, ins.ptx_line, place, space, size, size, called))
        return len(self.sites) - 1

    def _stands(self, cx: Lowering, ins: Instruction) -> tuple[str, int] | None:
        """File and line of an access as its author knows it: of code inlined from a header of their own, the line in
        the header; of one that comes with the compiler, the line that called it. The compiler's "line 0" is no line:
        then it is that of the instruction before.
        """
        where = self._authored(ins.loc)
        if where is not None or ins.loc is None:
            return where
        name = cx.function.name
        if name not in self._before:
            latest, known = None, {}
            for each in cx.function.instructions:
                latest = self._authored(each.loc) or latest
                known[each.ptx_line] = latest
            self._before[name] = known
        return self._before[name].get(ins.ptx_line)

    def _authored(self, loc: SourceLocation | None) -> tuple[str, int] | None:
        written = next(self._written(loc), None)
        return written or (self.place(loc) if loc is not None and loc.outermost.line else None)

    def _called(self, loc: SourceLocation | None) -> int:
        """The line of the author's from which a function of theirs was called that was inlined."""
        (file, _), *callers = (*self._written(loc),) or (("", 0),)
        return next((line for name, line in callers if name == file), 0)

    def _written(self, loc: SourceLocation | None) -> Iterator[tuple[str, int]]:
        """File and line of those places of an inlined chain that the kernel's author wrote, innermost first."""
        for at in loc.chain if loc is not None else ():
            name = self.module.files.get(at.file, "<unknown>")
            if at.line and (at.file == self._own_file or _written_by_the_author(name)):
                yield name, at.line

    def site_of_loop(self, cx: Lowering, index: int) -> int:
        """A site for a loop's way back: its last instruction that has a source line."""
        block = cx.code.blocks[index]
        located = [ins for ins in block if ins.loc is not None and (self.place(ins.loc) or ("", 0))[1]] or block
        self.sites.append(Site(cx.function.name, "loop", located[-1].ptx_line, self.place(located[-1].loc)))
        return len(self.sites) - 1

    def widen(self, site: int, span: int) -> None:
        """Says how many bytes one check of a site covers."""
        self.sites[site].span = max(self.sites[site].span, span)

    # -- errors -------------------------------------------------------------------------------------------------------
    def unsupported(self, function: Function, ins: Instruction, what: str) -> UnsupportedInstruction:
        place = self.place(ins.loc)
        where = f"{place[0]}:{place[1]}: " if place else ""
        which = f"`{ins.name}`, PTX line {ins.ptx_line}, in {source_name(function.name)}"
        return UnsupportedInstruction(
            f"{where}the virtual GPU does not have {what} ({which})",
            opcode=ins.opcode,
            ptx_line=ins.ptx_line,
            file=place[0] if place else None,
            line=place[1] if place else None,
        )

    def place(self, loc: SourceLocation | None) -> tuple[str, int] | None:
        """File and line in the kernel's own file: of code inlined from a header, the line that called it."""
        if loc is None:
            return None
        own = [at for at in loc.chain if at.file == self._own_file] or [loc.outermost]
        return self.module.files.get(own[0].file, "<unknown>"), own[0].line

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

    # -- parameters ---------------------------------------------------------------------------------------------------
    def load_parameter(self, cx: Lowering, name: str, offset: int, access: Access) -> list[Value]:
        """ld.param: a kernel's own parameters are scalars; a function's and a call's differ between lanes."""
        from gridstride.virtual.lowering.calls import read_area

        own = {p.name: (p, o) for p, o in parameter_layout(self.entry.params)} if cx.code.entry else {}
        if name not in own:
            return read_area(cx, name, offset, access)
        variable, start = own[name]
        if offset < 0 or offset + access.bytes > variable.size:
            raise cx.unsupported(f"a read past the end of parameter `{name}` ({variable.size} bytes)")
        base = cx.b.offset(cx.field("params"), start + offset)
        return [
            cx.b.load(access.type, cx.b.offset(base, access.size * j), align=access.size) for j in range(access.count)
        ]

    def store_parameter(self, cx: Lowering, name: str, offset: int, access: Access, values: list[Value]) -> None:
        """st.param: an argument of a call, or a device function's result."""
        from gridstride.virtual.lowering.calls import write_area

        write_area(cx, name, offset, access, values)


@functools.cache
def _written_by_the_author(file: str) -> bool:
    """False for the compiler's headers, of which some are in its memory alone."""
    return not _SHIPPED.search(file) and Path(file).is_file()


_SHIPPED = re.compile(r"/(?:site|dist)-packages/|/nvidia/|/cuda(?:-[\d.]+)?/(?:targets/[^/]+/)?include/|/gridstride/")
"""Headers that come with the compiler or with a package."""


# -- layouts ----------------------------------------------------------------------------------------------------------
def _callees(module: Module, function: Function) -> Iterator[Function]:
    """Functions that a function calls, or whose address it takes (it may call those indirectly)."""
    named = [o.name for ins in function.instructions for o in ins.operands if type(o) is Symbol]
    for name in dict.fromkeys(named):
        target = module.functions.get(module.aliases.get(name, name))
        if target is not None and target.kind == "func":  # a kernel is named to be launched
            yield target


def _taken(module: Module) -> Iterator[Function]:
    """Functions whose address a variable holds: virtual function tables."""
    for variable in module.variables.values():
        for item in variable.initializer or ():
            if isinstance(item, Symbol):
                target = module.functions.get(module.aliases.get(item.name, item.name))
                if target is not None and target.kind == "func":
                    yield target


def _indirect(function: Function) -> bool:
    return any(ins.opcode == "call" and not isinstance(ins.operands[1], Symbol) for ins in function.instructions)


def _reachable(module: Module, entry: Function) -> Iterator[Function]:
    seen: dict[str, Function] = {}
    work = [entry]
    while work:
        function = work.pop()
        if function.name in seen:
            continue
        seen[function.name] = function
        work.extend(_callees(module, function))
        if _indirect(function):
            work.extend(_taken(module))
    return iter(seen.values())


def calls_itself(module: Module, function: Function) -> bool:
    """Whether a function's direct calls come back to it."""
    seen: set[str] = set()
    work = list(_callees(module, function))
    while work:
        callee = work.pop()
        if callee.name == function.name:
            return True
        if callee.name not in seen:
            seen.add(callee.name)
            work.extend(_callees(module, callee))
    return False


def machine_frame(function: Function) -> int:
    """Bytes of machine stack that a function may take: three times what would hold all its registers."""
    return 3 * LANES * sum(max(8, TYPES[type_].bits) // 8 for type_ in function.registers.values())


def _frame(function: Function) -> tuple[dict[str, int], int]:
    """Offsets of a function's local variables, and the frame's size."""
    offsets, end = {}, 0
    for name, v in function.variables.items():
        if v.space == "local":
            end = -(-end // v.align) * v.align
            offsets[name] = end
            end += v.size
    return offsets, -(-end // 16) * 16


RECURSIVE_LOCAL = 16 << 10
"""Bytes of local memory per lane where recursion makes the need unknown."""


def _depth(program: Program, module: Module, entry: Function) -> tuple[bool, int]:
    """(recursive or called through pointers, bytes of local memory per lane on the deepest path)."""
    memo: dict[str, int] = {}
    active: set[str] = set()

    def need(function: Function) -> int:
        if function.name in active or _indirect(function):
            raise RecursionError
        if function.name not in memo:
            active.add(function.name)
            below = max((need(c) for c in _callees(module, function) if c.kind == "func"), default=0)
            active.discard(function.name)
            memo[function.name] = program.frames[function.name][1] + below
        return memo[function.name]

    try:
        return False, need(entry)
    except RecursionError:
        used = sum(size for _, size in program.frames.values())
        return True, RECURSIVE_LOCAL if used else 0


RESERVED, RESERVED_BYTES = "%reserved", 512
"""The shared memory that the system keeps for itself, of which cooperative groups have some (288 bytes): it is laid out
in kernels that ask where it is, and is not part of what a kernel declares or may have.
"""


def _reserves(functions: list[Function]) -> bool:
    operands = (o for f in functions for i in f.instructions for o in i.operands)
    return any(isinstance(o, Special) and o.name.startswith("reserved_smem") for o in operands)


def _shared_layout(
    module: Module, functions: list[Function], *, reserve: bool = False
) -> tuple[dict[str, int], int, bool]:
    """Offsets of shared variables; unsized (dynamic) arrays all start where the sized ones end."""
    named = {s.name for f in functions for i in f.instructions for s in _symbols(i)}
    variables = {n: v for n, v in module.variables.items() if v.space == "shared" and n in named}
    for f in functions:
        variables.update((n, v) for n, v in f.variables.items() if v.space == "shared")
    offsets, end = {}, 0
    for name, v in variables.items():
        if v.size:
            end = -(-end // v.align) * v.align
            offsets[name] = end
            end += v.size
    if reserve and _reserves(functions):
        offsets[RESERVED] = -(-end // 16) * 16
        end = offsets[RESERVED] + RESERVED_BYTES
    unsized = {name: v for name, v in variables.items() if not v.size}
    start = -(-end // max((v.align for v in unsized.values()), default=1)) * max(
        (v.align for v in unsized.values()), default=1
    )
    offsets.update(dict.fromkeys(unsized, start))
    return offsets, start if unsized else end, bool(unsized)


def _shared_arrays(module: Module, functions: list[Function], offsets: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Start and bytes of the shared variables that have these offsets."""
    variables = dict(module.variables)
    for function in functions:
        variables.update(function.variables)
    return {name: (start, variables[name].size) for name, start in offsets.items() if name in variables}


def shared_bytes(module: Module, entry: Function) -> int:
    """Static shared memory of a kernel, the functions it calls included."""
    return _shared_layout(module, list(_reachable(module, entry)))[1]


def _symbols(ins: Instruction) -> Iterator[Symbol]:
    for operand in ins.operands:
        if isinstance(operand, Symbol):
            yield operand
        elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
            yield operand.base
