"""A kernel compiled for one shape of block: machine code and the tables beside it, kept on disk."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from gridstride.compiler.cache import shared as shared_cache
from gridstride.virtual.abi.counter_tables import CounterTables
from gridstride.virtual.abi.execution_records import MOST_GROUPS
from gridstride.virtual.abi.memory_records import SITE
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.frame_layout import RECURSIVE_STACK
from gridstride.virtual.lowering.program import Lowered
from gridstride.virtual.lowering.source_sites import SourceSite
from gridstride.virtual.machine import engine
from gridstride.virtual.machine.tiers import (
    OBSERVED_WAITS,
    QUICK_FOR_EVER_FROM,
    QUICK_FROM,
    SECONDS_PER_LINE,
    Replacement,
    fits,
)
from gridstride.virtual.ptx.module import PtxModule


@dataclass(frozen=True, slots=True)
class KernelSite:
    """What is known of a site: the instruction, where it stands, and what it touches."""

    function: str
    name: str
    ptx_line: int
    file: str | None
    line: int | None
    space: str
    bytes: int
    span: int
    called: int = 0
    """The line that the inlined function of this place was called from; 0 where there is none."""
    array: Sequence[Any] | None = None
    """The shared array that addresses are made from, where others lie beside it: name, start and bytes."""


@dataclass(frozen=True)
class Tables:
    """Everything about a compiled kernel but its code. `static_shared`, `local_size` and `stack` in bytes."""

    sites: tuple[KernelSite, ...]
    symbols: tuple[str, ...]
    static_shared: int
    dynamic_shared: bool
    local_size: int
    waits: bool
    spins: bool
    recursive: bool
    stack: int
    counters: CounterTables | None
    clusters: bool = False
    launches: bool = False
    splits: bool = False
    rare: bool = False
    timed: bool = False
    lines: int = 0
    """`counters`: of the observed build; `clusters`: the kernel asks for its cluster, so it must run cluster by
    cluster; `rare`: it calls that part of the runtime; `timed`: it reads a clock, so that a loop may end because time
    goes by; `lines` of IR, which say how long compiling takes.
    """

    @functools.cached_property
    def site_names(self) -> frozenset[str]:
        """Instructions that have sites: a kernel has hundreds of these, and few names."""
        return frozenset(site.name for site in self.sites)

    @property
    def groups(self) -> int:
        """Fibers a block needs beside its warps': a warp's lanes may each be in another call that waits."""
        return MOST_GROUPS if self.splits else 0

    def to_json(self) -> bytes:
        # Places as bare rows: a kernel has hundreds, and loading it should not spend its time on their field names.
        return json.dumps({**asdict(self), "sites": [astuple(site) for site in self.sites]}).encode()

    @staticmethod
    def from_json(text: bytes) -> Tables:
        data = json.loads(text)
        data["sites"] = tuple(KernelSite(*row) for row in data["sites"])
        data["symbols"] = tuple(data["symbols"])
        data["counters"] = data["counters"] and CounterTables.from_json(data["counters"])
        return Tables(**data)

    def site_records(self) -> np.ndarray[Any, Any]:
        """A fresh table of the bounds that accesses last hit: nothing hit yet."""
        records = np.zeros(len(self.sites) + 1, SITE.dtype())
        records["span"][:-1] = [p.span for p in self.sites]
        return records


class Variant:
    """Loaded code with its tables; `replacement` where the code is quick code, until better has taken its place."""

    def __init__(self, code: engine.MachineCode, tables: Tables) -> None:
        self.code, self.tables = code, tables
        self.replacement: Replacement | None = None
        self._replaced: list[engine.MachineCode] = []

    def replace_when_worth_it(self, compile: Callable[[], engine.MachineCode], *, observed: bool) -> None:
        """Has other code take this one's place once launches have run for long enough."""
        if self.tables.lines >= QUICK_FOR_EVER_FROM:
            return
        cost = self.tables.lines * SECONDS_PER_LINE * (OBSERVED_WAITS if observed else 1)
        self.replacement = Replacement(cost, compile, self._install)

    def _install(self, code: engine.MachineCode) -> None:
        self._replaced.append(self.code)  # warps may still be in it
        self.code = code


@dataclass(frozen=True, slots=True)
class _Request:
    """A kernel to be compiled for a block shape, and the names under which its code is kept."""

    parsed: Callable[[], PtxModule]
    key: str
    name: str
    shape: BlockShape
    observed: bool
    stack: int

    @property
    def quick_key(self) -> str:
        return f"{self.key}/quick"

    def lower(self) -> tuple[Tables, Lowered]:
        from gridstride.virtual.lowering.kernel import lower_kernel

        observer = None
        if self.observed:
            from gridstride.virtual.lowering.observed.counting import Counting

            observer = Counting()
        lowered = lower_kernel(self.parsed(), self.name, self.shape, observer, self.stack)
        return _tables(lowered, observer.tables() if observer else None), lowered


def build(
    parsed: Callable[[], PtxModule],
    text_digest: str,
    name: str,
    shape: BlockShape,
    observed: bool,
    stack: int = RECURSIVE_STACK,
) -> Variant:
    """The kernel for a block shape, from the cache or, with the parsed text, compiled now: quickly, where it is long.
    `stack`: bytes for arrays of recursive calls.

    Raises UnsupportedInstruction for what the virtual GPU does not have.
    """  # fmt: skip
    key = f"{engine.version()}/{text_digest}/{name}/{shape}/{observed}"
    if stack != RECURSIVE_STACK:
        key += f"/{stack}"
    request = _Request(parsed, key, name, shape, observed, stack)
    cached = _cached_variant(request.key)
    if cached is not None:
        return cached
    quick = _cached_variant(request.quick_key)
    if quick is None:
        tables, lowered = request.lower()
        if tables.lines >= QUICK_FROM:
            quick = _quickly(request, tables, lowered)
        if quick is None:
            return Variant(_optimised(request.key, tables, lowered.ir), tables)
    first = quick.tables
    quick.replace_when_worth_it(lambda: _again(request, first), observed=observed)
    return quick


def _cached_variant(key: str) -> Variant | None:
    """What the cache has."""
    stored = shared_cache("machine").get(key)
    if stored is None:
        return None
    size = int.from_bytes(stored[:8], "little")
    tables = Tables.from_json(stored[8 : 8 + size])
    return Variant(engine.MachineCode(stored[8 + size :], rare=tables.rare), tables)


def _keep(key: str, tables: Tables, data: bytes) -> None:
    head = tables.to_json()
    shared_cache("machine").put(key, len(head).to_bytes(8, "little") + head + data)


def _quickly(request: _Request, tables: Tables, lowered: Lowered) -> Variant | None:
    """Code that was not optimised; None where its frames are too large for a warp's stack."""
    data = engine.compile_object(lowered.ir, effort="quick")
    code = engine.MachineCode(data, rare=tables.rare)
    if not fits(code, lowered.frames):
        return None
    _keep(request.quick_key, tables, data)
    return Variant(code, tables)


def _optimised(key: str, tables: Tables, ir: str) -> engine.MachineCode:
    data = engine.compile_object(ir)
    _keep(key, tables, data)
    return engine.MachineCode(data, rare=tables.rare)


def _again(request: _Request, tables: Tables) -> engine.MachineCode:
    """The optimised code of a kernel that runs already. It is lowered anew: hardly any kernel gets here, so its text is
    not kept for that."""
    again, lowered = request.lower()
    assert again.to_json() == tables.to_json(), "lowering a kernel twice gives two results"
    return _optimised(request.key, tables, lowered.ir)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def _tables(lowered: Lowered, counters: CounterTables | None) -> Tables:
    return Tables(
        tuple(_kernel_site(s) for s in lowered.sites), tuple(lowered.symbols), lowered.static_shared,
        lowered.dynamic_shared,
        lowered.local_size, lowered.waits, lowered.spins, lowered.recursive, lowered.stack, counters, lowered.clusters,
        lowered.launches, lowered.splits, engine.calls_rare(lowered.calls),
        "llvm.readcyclecounter" in lowered.calls, lowered.lines,
    )  # fmt: skip


def _kernel_site(site: SourceSite) -> KernelSite:
    file, line = site.location or (None, None)
    return KernelSite(
        site.function, site.name, site.ptx_line, file, line, site.space, site.bytes, site.span, site.called, site.array
    )
