"""What the observed build asks of each access to global memory: how strong it is, and whether it races."""

from __future__ import annotations

from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import ordered, space_of
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.machine.layout import BLOCK_STRONG, CHECKED, PLAIN, STRONG
from gridstride.virtual.ptx.module import Instruction


def scope_of(ins: Instruction) -> int:
    """Among which threads an instruction's order holds."""
    return BLOCK_STRONG if "cta" in ins.modifiers else STRONG


_CHECKING = frozenset(["cas", "min", "max", "and", "or"])


def checks_value(ins: Instruction) -> bool:
    """Whether an atomic looks at the value itself, which others may then read plainly first (CHECKED)."""
    return not _CHECKING.isdisjoint(ins.modifiers)


def _plain(cx: Lowering) -> int:
    """How strong a plain access is. Triton lets all warps of a block load what one of them needs, and store it over:
    within a block its programs are sequential, and what its threads do there says nothing.
    """
    return BLOCK_STRONG if cx.program.module.generator.startswith("LLVM NVPTX") else PLAIN


def watch_global(cx: Lowering, site: int, addresses: Value, size: Value, kind: str) -> None:
    """Looks for races of an access to global memory; one that releases does so before it."""
    b, atomic = cx.b, kind in ("atom", "red")
    releases = {"release", "acq_rel"} & set(cx.ins.modifiers)
    if releases and scope_of(cx.ins) == STRONG:
        b.call("void", "gs_race_fence", cx.warp)
    elif releases or (kind == "store" and ordered(cx.ins) and space_of(cx.ins) == "generic"):
        b.call("void", "gs_race_sync", cx.warp)  # of a generic address: it may be shared memory
    strength = scope_of(cx.ins) if atomic or ordered(cx.ins) else _plain(cx)
    if atomic and strength == STRONG and checks_value(cx.ins):
        strength = CHECKED
    writes = atomic or kind == "store"
    name, long = f"gs_global_{'store' if writes else 'load'}", b.resize(addresses, "i64")
    b.call("void", name, cx.warp, constant("i32", site), cx.active(), long, size, constant("i32", strength))
    if kind == "store":
        b.call("void", "gs_race_stored", cx.warp)
