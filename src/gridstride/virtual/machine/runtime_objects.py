"""The runtime in parts, each an object of its own: what every launch needs, what observed launches spend their time in,
and what few kernels use, which is compiled when one does.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gridstride.virtual.ir.builder import ATTRIBUTES, IrModule
from gridstride.virtual.runtime.schedule.fibers import PROCESSORS

WATCHED = (
    "gs_observe_shared_load gs_observe_shared_store gs_observe_global_load gs_observe_global_store "
    "gs_race_storing gs_race_stored gs_race_barrier"
).split()
"""What plain accesses of an observed kernel call. All else runs as fast without LLVM's -O2, which takes as long over
these, and what they call, as the rest takes in all.
"""


@dataclass(frozen=True, slots=True)
class RuntimeObject:
    """Names that it defines, and its IR; `effort` is what LLVM spends on it: -O2 where that is worth its time."""

    names: tuple[str, ...]
    ir: str
    effort: Effort = "usual"


@dataclass(frozen=True, slots=True)
class RuntimeObjects:
    """`core` are loaded for every kernel, and `rare` for those that call it."""

    core: tuple[RuntimeObject, RuntimeObject]
    rare: RuntimeObject


def split() -> RuntimeObjects:
    """Writes the whole runtime and cuts it up."""
    module, first = _emit_all()
    calls = {name: set(re.findall(r"@(gs_\w+)", text)) & module.defined for name, text in _texts(module).items()}
    core = _reached(first, calls)
    watched = _reached(WATCHED, calls)
    rare_names = [name for name in calls if name not in core]
    plain = [name for name in calls if name in core and name not in watched]
    assembly = [line for line in module.preamble if line.startswith("module asm")]
    return RuntimeObjects(
        (_part(module, plain, assembly), _part(module, [n for n in calls if n in watched], (), effort="thorough")),
        _part(module, rare_names, ()),
    )


def _emit_all() -> tuple[IrModule, list[str]]:
    """All of it, and the names that the core defines. Where compiled code is kept, nothing of this is imported."""
    from gridstride.virtual.runtime.emitters import CORE, RARE, emit_scheduler

    processor = PROCESSORS.get(platform.machine())
    if processor is None:
        raise RuntimeError(f"the virtual GPU runs on x86-64 and AArch64, not on {platform.machine()}")
    module = IrModule()
    emit_scheduler(module, processor)
    for emit in CORE:
        emit(module)
    core = [*module.defined]
    for emit in RARE:
        emit(module)
    return module, core


def _texts(module: IrModule) -> dict[str, str]:
    return {match[1]: text for text in module.functions if (match := re.search(r"@(\w+)\(", text))}


def _reached(names: Iterable[str], calls: dict[str, set[str]]) -> set[str]:
    """The functions named, and all that they call."""
    visited: set[str] = set()
    work = list(names)
    while work:
        name = work.pop()
        if name not in visited:
            visited.add(name)
            work += calls[name]
    return visited


def _part(module: IrModule, names: list[str], assembly: Iterable[str], *, effort: Effort = "usual") -> RuntimeObject:
    """The functions with what they use: declarations, and the tables of the preamble."""
    texts, own = _texts(module), set(names)
    body = [texts[name] for name in names]
    used = set(re.findall(r"@([\w.]+)", "".join(body)))
    tables = [line for line in module.preamble if (name := re.match(r"@(\w+) =", line)) and name[1] in used]
    heads = {name: f"declare {text.split('define ', 1)[1].split(' #', 1)[0]}" for name, text in texts.items()}
    declared = [t for name, t in (module.signatures | heads).items() if name in used and name not in own]
    written = re.findall(r"\.globl (\w+)", "".join(assembly))
    return RuntimeObject((*names, *written), "\n".join([*assembly, *tables, *declared, *body, ATTRIBUTES]), effort)


Effort = Literal["quick", "usual", "thorough"]
