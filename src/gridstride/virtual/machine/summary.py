"""What loading and launching need to know of a PTX text; kept on disk, so that only what must be compiled is parsed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gridstride.compiler.cache import shared as shared_cache
from gridstride.protocol import ParameterLayout
from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.lowering.frame_layout import parameter_layout, shared_bytes
from gridstride.virtual.machine import engine
from gridstride.virtual.ptx.module import Function, Immediate, PtxModule, Variable


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel. `static_shared` and `local` in bytes; `most_threads` as .maxntid or .reqntid say, None where they do
    not; `number` is its place among the module's functions, as function pointers count. `cluster` and `most_cluster`
    as .reqnctapercluster and .maxclusterrank say; `flags` as the PTX names them.
    """

    name: str
    parameters: tuple[ParameterLayout, ...]
    static_shared: int
    most_threads: int | None
    cluster: tuple[int, int, int] | None = None
    most_cluster: int | None = None
    flags: tuple[str, ...] = ()
    number: int = 0
    local: int = 0
    exact: tuple[int, ...] = ()
    """The block that .reqntid asks for; empty where any will do."""

    @staticmethod
    def from_json(data: dict[str, Any]) -> KernelEntry:
        parameters = tuple(ParameterLayout(**p) for p in data["parameters"])
        cluster = None if data["cluster"] is None else tuple(data["cluster"])
        parsed = {"parameters": parameters, "cluster": cluster}
        return KernelEntry(**{**data, **parsed, "flags": tuple(data["flags"]), "exact": tuple(data["exact"])})


@dataclass(frozen=True, slots=True)
class Pointer:
    """`size` bytes at `offset` of a variable that hold an address: `target`'s plus `addend`, or a masked part of it."""

    offset: int
    size: int
    target: str
    addend: int
    mask: int | None

    def value(self, address: int) -> bytes:
        """The bytes, given where the target lies."""
        value = (address + self.addend) & (1 << 64) - 1
        if self.mask is not None:
            value = (value & self.mask) // (self.mask & -self.mask)
        return value.to_bytes(16, "little")[: self.size]


@dataclass(frozen=True, slots=True)
class Placed:
    """A variable in global memory: "name", or "function/name" for one of a function's own.

    `data`: its first bytes, the others are 0; `pointers` go on top.
    """

    key: str
    size: int
    data: bytes
    pointers: tuple[Pointer, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "data": self.data.hex()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Placed:
        pointers = tuple(Pointer(**p) for p in data["pointers"])
        return Placed(data["key"], data["size"], bytes.fromhex(data["data"]), pointers)


@dataclass(frozen=True, slots=True)
class Summary:
    """A PTX text's kernels and variables, and how many bytes of them are constants."""

    entries: tuple[KernelEntry, ...]
    variables: tuple[Placed, ...]
    constants: int

    def to_json(self) -> bytes:
        entries, variables = [asdict(e) for e in self.entries], [v.to_json() for v in self.variables]
        return json.dumps({"entries": entries, "variables": variables, "constants": self.constants}).encode()

    @staticmethod
    def from_json(text: bytes) -> Summary:
        data = json.loads(text)
        entries = tuple(KernelEntry.from_json(e) for e in data["entries"])
        return Summary(entries, tuple(Placed.from_json(v) for v in data["variables"]), data["constants"])


def summary(text_digest: str, parsed: Callable[[], PtxModule]) -> Summary:
    """The summary of a text, from the cache or made of the module now; raises what `parsed` raises."""
    cache, key = shared_cache("machine"), f"summary/{engine.sources()}/{text_digest}"
    stored = cache.get(key)
    if stored is not None:
        return Summary.from_json(stored)
    fresh = summarise(parsed())
    cache.put(key, fresh.to_json())
    return fresh


def summarise(module: PtxModule) -> Summary:
    """What a module's text says that does not depend on where it is loaded."""
    entries = tuple(_entry(module, f) for f in module.entries)
    variables = tuple(_global_variables(module))
    constants = sum(v.size for _, v in variables if v.space == "const")
    return Summary(entries, tuple(_placed(module, key, v) for key, v in variables), constants)


def _entry(module: PtxModule, function: Function) -> KernelEntry:
    limits = [math.prod(function.directives[d]) for d in ("maxntid", "reqntid") if function.directives.get(d)]
    layouts = tuple(_parameter(v, offset) for v, offset in parameter_layout(function.params))
    x, y, z = (*function.directives.get("reqnctapercluster", ()), 1, 1, 1)[:3]
    cluster = (x, y, z) if "reqnctapercluster" in function.directives else None
    (most_cluster,) = function.directives.get("maxclusterrank") or (None,)
    flags = tuple(f for f in ("explicitcluster", "blocksareclusters") if f in function.directives)
    number = list(module.functions).index(function.name)
    local = sum(v.size for v in function.variables.values() if v.space == "local")
    exact = (*function.directives.get("reqntid", ()), 1, 1)[:3] if "reqntid" in function.directives else ()
    shared, most = shared_bytes(module, function), min(limits, default=None)
    return KernelEntry(function.name, layouts, shared, most, cluster, most_cluster, flags, number, local, exact)


def _parameter(variable: Variable, offset: int) -> ParameterLayout:
    type_ = f"{variable.type}[{variable.count}]" if variable.count is not None else variable.type
    return ParameterLayout(offset, variable.size, variable.align, type_, variable.pointer)


def _global_variables(module: PtxModule) -> Iterator[tuple[str, Variable]]:
    scopes = [("", module.variables), *((f"{f.name}/", f.variables) for f in module.functions.values())]
    for prefix, variables in scopes:
        yield from ((prefix + n, v) for n, v in variables.items() if v.space in ("global", "const"))


def _placed(module: PtxModule, key: str, variable: Variable) -> Placed:
    functions = {name: number for number, name in enumerate(module.functions)}
    step, data, pointers = variable.info.size, bytearray(), []
    for item in variable.initializer or ():
        if isinstance(item, Immediate):
            data += (item.bits & (1 << 128) - 1).to_bytes(16, "little")[:step]
            continue
        name = module.aliases.get(item.name, item.name)
        pointer = Pointer(len(data), step, name, item.offset, item.mask)
        if name in functions:
            data += pointer.value(FUNCTION_BASE + 16 * functions[name])
        else:
            pointers.append(pointer)
            data += bytes(step)
    return Placed(key, variable.size, bytes(data).rstrip(b"\0"), tuple(pointers))
