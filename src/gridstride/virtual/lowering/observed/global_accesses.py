"""What the observed build asks of each access to global memory: how strong it is, and whether it races."""

from __future__ import annotations

from gridstride.virtual.abi.race_shadows import (
    BLOCK_STRONG,
    CHECKED,
    LANED,
    NON_COHERENT,
    OF_ATOMIC,
    PLAIN,
    STRONG,
    UNWATCHED,
)
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.analysis.memory_operands import ordered
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction


def scope_of(ins: Instruction) -> int:
    """Among which threads an instruction's order holds."""
    return BLOCK_STRONG if "cta" in ins.modifiers else STRONG


def releases(ins: Instruction) -> bool:
    """Whether an access releases what came before it: a volatile or relaxed one does not."""
    return not {"release", "acq_rel"}.isdisjoint(ins.modifiers)


def releases_widely(ins: Instruction) -> bool:
    """Whether an access releases what came before it to other blocks, too."""
    return releases(ins) and scope_of(ins) == STRONG


_CHECKING = frozenset(["cas", "min", "max", "and", "or"])


def checks_value(ins: Instruction) -> bool:
    """Whether an atomic looks at the value itself, which others may then read plainly first (CHECKED)."""
    return not _CHECKING.isdisjoint(ins.modifiers)


def _plain(cx: Lowering) -> int:
    """How strong a plain access is. Triton lets all warps of a block load what one of them needs, and store it over:
    within a block its programs are sequential, and what its threads do there says nothing.
    """
    return BLOCK_STRONG if of_triton(cx) else PLAIN


def of_triton(cx: Lowering) -> bool:
    """Whether Triton made the code: its programs have no lanes, and what several of them do at once is one thing."""
    return cx.program.module.generator.startswith("LLVM NVPTX")


def watch_global(cx: Lowering, kind: str) -> Value:
    """How strong an access to global memory is, for the race detector; one that releases does so here, before it, and
    one that others may read tells them what is behind fences.
    """
    b, atomic = cx.b, kind in ("atom", "red")
    if kind == "fetch":
        return constant("i32", UNWATCHED)
    if releases_widely(cx.ins):
        b.call("void", "gs_race_fence", cx.warp)
    elif releases(cx.ins):
        b.call("void", "gs_race_sync", cx.warp)
    if (atomic or (kind == "store" and ordered(cx.ins))) and scope_of(cx.ins) == STRONG:
        b.call("void", "gs_race_tell", cx.warp, cx.active())
    strength = scope_of(cx.ins) if atomic or ordered(cx.ins) else _plain(cx)
    if atomic and strength == STRONG and checks_value(cx.ins):
        strength = CHECKED
    elif kind == "load" and "nc" in cx.ins.modifiers:
        strength = NON_COHERENT
    if (atomic or id(cx.ins) in cx.code.polls) and not of_triton(cx):
        return constant("i32", strength | LANED | OF_ATOMIC)
    return constant("i32", strength | (LANED if _laned(cx, kind) else 0))


def _laned(cx: Lowering, kind: str) -> bool:
    """Whether an access is held against those of other lanes: not of Triton, whose programs have no lanes, and not what
    orders them, which volatile does not.
    """
    orders = ordered(cx.ins) and "volatile" not in cx.ins.modifiers
    return kind in ("load", "store") and not orders and not of_triton(cx)
