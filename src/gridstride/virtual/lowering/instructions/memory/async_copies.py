"""Asynchronous copies: cp.async in groups or on barriers, cp.async.bulk; elect.sync is in warp.py.

In the fast build a copy is made where it is issued. In the observed build it is queued and lands as late as the rules
allow (copies.py), so that a wait that is missing shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.abi import address_spaces
from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering import access as layout
from gridstride.virtual.lowering import outlined
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import memory_operands
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import addressing, memory
from gridstride.virtual.lowering.instructions.memory.atomic_calls import ALLOWED, operation
from gridstride.virtual.lowering.instructions.memory.copy_operands import address, columns, cta_masks, site
from gridstride.virtual.lowering.instructions.operand_checks import check
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Operand, Register
from gridstride.virtual.runtime.memory.reduce import REDUCTIONS

_HINTS = {"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}
_REDUCTIONS = frozenset("add min max and or xor inc dec".split())
_HALVES = ("f16", "bf16")


def copy(cx: Lowering, ins: Instruction) -> None:
    """cp.async, cp.async.bulk, their groups and waits."""
    modifiers = set(ins.modifiers)
    if "tensor" in modifiers and "prefetch" not in modifiers:
        from gridstride.virtual.lowering.instructions.memory.tensor_copies import tensor_copy

        tensor_copy(cx, ins)
    elif "bulk" in modifiers:
        _bulk(cx, ins, modifiers)
    elif "mbarrier" in modifiers:
        _arrive(cx, ins)
    elif {"commit_group", "wait_group", "wait_all"} & modifiers:
        _group(cx, ins, modifiers, "gs_copies")
    else:
        _copy(cx, ins)


def _group(cx: Lowering, ins: Instruction, modifiers: set[str], room: str) -> None:
    """commit_group, wait_group N, wait_all."""
    if "commit_group" in modifiers:
        cx.b.call("void", f"{room}_commit", cx.warp, cx.active())
        return
    pending = constant("i32", -1)
    if "wait_group" in modifiers:
        (operand,) = ins.operands
        assert isinstance(operand, Immediate)
        pending = constant("i32", operand.bits)
    cx.b.call("void", f"{room}_{'read' if 'read' in modifiers else 'wait'}", cx.warp, cx.active(), pending)


# -- cp.async ---------------------------------------------------------------------------------------------------------
def _copy(cx: Lowering, ins: Instruction) -> None:
    to, origin = address(cx, ins, 0), address(cx, ins, 1)
    count, *more = ins.operands[2:]
    assert isinstance(count, Immediate)
    if "L2::cache_hint" in ins.modifiers:
        more = more[:-1]
    counts = _counts(cx, more, count.bits)
    words = count.bits // 4
    if cx.program.observer.observes:
        _later(cx, to, origin, counts, words)
    elif counts is None:
        _now(cx, to, origin, words)
    else:
        _now_if_whole(cx, to, origin, counts, words)


def _counts(cx: Lowering, more: Sequence[Operand], size: int) -> Value | None:
    """The bytes that each lane takes from global memory: none where ignore-src says so; None for `size` of all."""
    if not more or (isinstance(more[0], Immediate) and more[0].bits == size):
        return None
    operand = more[0]
    if isinstance(operand, Register) and cx.code.registers[operand.name] == "pred":
        ignored = cx.vector(operand, "pred")
        zero = constant(wide("i32"), 0)
        return cx.b.select(ignored, zero, constant(wide("i32"), size))
    return cx.vector(operand, "b32")


def _runtime(cx: Lowering, to: Address, origin: Address, counts: Value, words: int, sites: tuple[Value, Value]) -> None:
    b = cx.b
    targets, sources = addressing.vector_address(cx, to, "shared"), addressing.vector_address(cx, origin, "global")
    areas = columns(cx, targets, sources, counts)
    b.call("void", "gs_copy", cx.warp, *sites, cx.active(), *areas, constant("i32", 4 * words))


def _later(cx: Lowering, to: Address, origin: Address, counts: Value | None, words: int) -> None:
    """The observed build: counted here, copied when waited for."""
    there, here = Access("shared", 4, words), Access("global", 4, words)
    numbers = cx.program.site(cx, there), cx.program.site(cx, here)
    cx.program.observer.access(cx, numbers[1], here, origin, "fetch")
    cx.program.observer.access(cx, numbers[0], there, to, "async")
    sites = constant("i32", numbers[0]), constant("i32", numbers[1])
    _runtime(cx, to, origin, constant(wide("i32"), 4 * words) if counts is None else counts, words, sites)


def _now_if_whole(cx: Lowering, to: Address, origin: Address, counts: Value, words: int) -> None:
    """The quick way where every lane copies all of its bytes, as all but the tiles at an edge do."""
    b = cx.b
    is_full = b.bitcast(b.compare("eq", counts, constant(counts.type, 4 * words)), "i32")
    short = b.op("and", cx.active(), b.op("xor", is_full, constant("i32", -1)))
    quick, slow, done = b.new_label("whole"), b.new_label("short"), b.new_label("copied")
    b.branch(b.compare("eq", short, constant("i32", 0)), quick, slow, likely=True)
    b.start(quick)
    with cx.conditional_code():
        _now(cx, to, origin, words)
    b.jump(done)
    b.start(slow)
    sites = site(cx, Access("shared", 4, words)), site(cx, Access("global", 4, words))
    with cx.conditional_code():
        _runtime(cx, to, origin, counts, words, sites)
    b.jump(done)
    b.start(done)


def _now(cx: Lowering, to: Address, origin: Address, words: int) -> None:
    """A load and a store, with their fast ways."""
    b = cx.b
    values = [b.splat(v) for v in memory._load(cx, origin, Access("global", 4, words))]
    there = Access("shared", 4, words)
    number = cx.program.site(cx, there)
    form = addressing.linear_address(cx, to, "shared")
    if form is None or form.uniform or not layout.few_groups(form):
        addressing._slow_store(cx, addressing.vector_address(cx, to, "shared"), there, number, values, quick=True)
    else:
        outlined.store(cx, form, there, number, values)


def _arrive(cx: Lowering, ins: Instruction) -> None:
    """cp.async.mbarrier.arrive: the lane's copies so far arrive on a barrier."""
    space = memory_operands.space_of(ins)
    (where,) = columns(cx, addressing.vector_address(cx, address(cx, ins, 0), space))
    more = constant("i32", int("noinc" not in ins.modifiers))
    number, kind = site(cx), constant("i32", address_spaces.SPACES[space])
    cx.b.call("void", "gs_copies_arrive", cx.warp, number, cx.active(), where, kind, more)


# -- bulk copies ------------------------------------------------------------------------------------------------------
def _bulk(cx: Lowering, ins: Instruction, modifiers: set[str]) -> None:
    if "prefetch" in modifiers:
        return  # a hint
    if {"commit_group", "wait_group"} & modifiers:
        _group(cx, ins, modifiers, "gs_bulk")
        return
    reduce = _reduction(cx, ins)
    spaces = [m.partition("::")[0] for m in ins.modifiers if m.partition("::")[0] in ("shared", "global")]
    if len(spaces) != 2 or len(ins.operands) < 3:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    counted = "mbarrier::complete_tx::bytes" in modifiers
    values = [addressing.vector_address(cx, address(cx, ins, i), space) for i, space in enumerate(spaces)]
    values.append(cx.vector(ins.operands[2], "b32"))
    if counted:
        values.append(addressing.vector_address(cx, address(cx, ins, 3), "shared"))
    areas = columns(cx, *values)
    null = Value("null", "ptr")
    sites = (site(cx, Access(s, 1, 1)) for s in spaces)
    kinds = [address_spaces.SPACES[s] for s in spaces]
    if spaces[0] == "shared":
        kinds[0] = CLUSTER_SPACE
    numbers = (constant("i32", kind) for kind in kinds)
    pointers = areas if counted else [*areas, null]
    arguments = (cx.warp, *sites, cx.active(), *pointers, *numbers, constant("i32", reduce))
    if "multicast::cluster" not in modifiers:
        cx.b.call("void", "gs_bulk", *arguments)
    elif counted and len(ins.operands) > 4:
        cx.b.call("void", "gs_bulk_multicast", *arguments, cta_masks(cx, ins.operands[4]))
    else:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    if "global" in spaces:
        side = addressing.vector_address(cx, address(cx, ins, spaces.index("global")), "global")
        length = cx.b.resize(cx.vector(ins.operands[2], "b32"), "i64")
        cx.program.observer.bulk(cx, "bulk", side, length, constant("i32", int(not counted)))


def _reduction(cx: Lowering, ins: Instruction) -> int:
    """The number of what a cp.reduce does, 0 for a cp; refuses what neither can do."""
    known = {"async", "bulk", "shared::cta", "shared::cluster", "global", "bulk_group", "L2::cache_hint",
             "mbarrier::complete_tx::bytes", "multicast::cluster"}  # fmt: skip
    if "reduce" not in ins.modifiers:
        check(cx, ins, known)
        return 0
    op = next((m for m in ins.modifiers if m in _REDUCTIONS), "")
    check(cx, ins, {"reduce", "noftz", op, *known} - {"multicast::cluster"})
    type_ = ins.types[0] if len(ins.types) == 1 else ""
    what = operation(op, type_)
    if what not in REDUCTIONS or (type_ not in ALLOWED[op] and type_ not in _HALVES):
        raise cx.unsupported(f"`{ins.name}`")
    return REDUCTIONS.index(what) + 1
