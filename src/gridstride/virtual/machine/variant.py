"""A kernel compiled for one shape of block: machine code and the tables beside it, kept on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from gridstride.compiler.cache import shared as shared_cache
from gridstride.virtual.lowering.program import Site
from gridstride.virtual.lowering.transfer import BlockShape
from gridstride.virtual.machine import engine
from gridstride.virtual.machine.layout import MOST_GROUPS, SITE
from gridstride.virtual.ptx.module import Module


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a site: the instruction, where it stands, and what it touches."""

    function: str
    name: str
    ptx_line: int
    file: str | None
    line: int | None
    space: str
    bytes: int
    span: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything about a compiled kernel but its code. `static_shared`, `local_size` and `stack` in bytes."""

    sites: tuple[Place, ...]
    symbols: tuple[str, ...]
    static_shared: int
    dynamic_shared: bool
    local_size: int
    waits: bool
    spins: bool
    recursive: bool
    stack: int
    extra: dict[str, Any]
    clusters: bool = False
    launches: bool = False
    splits: bool = False
    rare: bool = False
    """`clusters`: the kernel asks for its cluster, so it must run cluster by cluster; `rare`: it calls that part of the
    runtime."""

    @property
    def groups(self) -> int:
        """Fibers a block needs beside its warps': a warp's lanes may each be in another call that waits."""
        return MOST_GROUPS if self.splits else 0

    def to_json(self) -> bytes:
        # Places as bare rows: a kernel has hundreds, and loading it should not spend its time on their field names.
        return json.dumps({**asdict(self), "sites": [astuple(place) for place in self.sites]}).encode()

    @staticmethod
    def from_json(text: bytes) -> Tables:
        data = json.loads(text)
        data["sites"] = tuple(Place(*row) for row in data["sites"])
        data["symbols"] = tuple(data["symbols"])
        return Tables(**data)

    def site_records(self) -> np.ndarray[Any, Any]:
        """A fresh table of the bounds that accesses last hit: nothing hit yet."""
        records = np.zeros(len(self.sites) + 1, SITE.dtype())
        records["span"][:-1] = [p.span for p in self.sites]
        return records


class Variant:
    """Loaded code with its tables."""

    def __init__(self, code: bytes, tables: Tables) -> None:
        self.code, self.tables = engine.Code(code, rare=tables.rare), tables


def build(parsed: Callable[[], Module], text_digest: str, name: str, shape: BlockShape, observed: bool) -> Variant:
    """The kernel for a block shape, from the cache or, with the parsed text, compiled now.

    Raises UnsupportedInstruction for what the virtual GPU does not have.
    """
    cache = shared_cache("machine")
    key = f"{engine.version()}/{text_digest}/{name}/{shape}/{observed}"
    stored = cache.get(key)
    if stored is not None:
        size = int.from_bytes(stored[:8], "little")
        return Variant(stored[8 + size :], Tables.from_json(stored[8 : 8 + size]))
    tables, code = _compile(parsed(), name, shape, observed)
    head = tables.to_json()
    cache.put(key, len(head).to_bytes(8, "little") + head + code)
    return Variant(code, tables)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def _compile(module: Module, name: str, shape: BlockShape, observed: bool) -> tuple[Tables, bytes]:
    from gridstride.virtual.lowering.kernel import lower_kernel

    observer = None
    if observed:
        from gridstride.virtual.lowering.observed import Counting

        observer = Counting()
    lowered = lower_kernel(module, name, shape, observer)
    sites = tuple(_place(s) for s in lowered.sites)
    tables = Tables(
        sites, tuple(lowered.symbols), lowered.static_shared, lowered.dynamic_shared, lowered.local_size,
        lowered.waits, lowered.spins, lowered.recursive, lowered.stack, observer.tables() if observer else {},
        lowered.clusters, lowered.launches, lowered.splits, engine.calls_rare(lowered.calls),
    )  # fmt: skip
    return tables, engine.compile_object(lowered.ir)


def _place(site: Site) -> Place:
    file, line = site.place or (None, None)
    return Place(site.function, site.name, site.ptx_line, file, line, site.space, site.bytes, site.span)
