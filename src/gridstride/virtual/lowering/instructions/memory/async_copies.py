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
from gridstride.virtual.lowering.instructions.memory.atomic_calls import operation
from gridstride.virtual.lowering.instructions.memory.copy_operands import columns, cta_masks, site
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Operand, Register
from gridstride.virtual.ptx.operands import address, immediate
from gridstride.virtual.runtime.memory.reduce import REDUCTIONS, TENSOR_OPERATIONS


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
        pending = constant("i32", immediate(ins.operands[0]))
    cx.b.call("void", f"{room}_{'read' if 'read' in modifiers else 'wait'}", cx.warp, cx.active(), pending)


# -- cp.async ---------------------------------------------------------------------------------------------------------
def _copy(cx: Lowering, ins: Instruction) -> None:
    to, origin = address(ins, 0), address(ins, 1)
    size, more = immediate(ins.operands[2]), ins.operands[3:]
    if "L2::cache_hint" in ins.modifiers:
        more = more[:-1]
    counts = _counts(cx, more, size)
    words = size // 4
    if cx.program.observer.observes:
        _queue_copy(cx, to, origin, counts, words)
    elif counts is None:
        _copy_at_once(cx, to, origin, words)
    else:
        _copy_if_full(cx, to, origin, counts, words)


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


def _queue_copy(cx: Lowering, to: Address, origin: Address, counts: Value | None, words: int) -> None:
    """The observed build: counted here, copied when waited for."""
    shared_access, global_access = Access("shared", 4, words), Access("global", 4, words)
    numbers = cx.program.site(cx, shared_access), cx.program.site(cx, global_access)
    cx.program.observer.access(cx, numbers[1], global_access, origin, "fetch")
    cx.program.observer.access(cx, numbers[0], shared_access, to, "async")
    sites = constant("i32", numbers[0]), constant("i32", numbers[1])
    _runtime(cx, to, origin, constant(wide("i32"), 4 * words) if counts is None else counts, words, sites)


def _copy_if_full(cx: Lowering, to: Address, origin: Address, counts: Value, words: int) -> None:
    """The quick way where every lane copies all of its bytes, as all but the tiles at an edge do."""
    b = cx.b
    is_full = b.bitcast(b.compare("eq", counts, constant(counts.type, 4 * words)), "i32")
    short = b.op("and", cx.active(), b.op("xor", is_full, constant("i32", -1)))
    quick, slow, done = b.new_label("whole"), b.new_label("short"), b.new_label("copied")
    b.branch(b.compare("eq", short, constant("i32", 0)), quick, slow, likely=True)
    b.start(quick)
    with cx.conditional_code():
        _copy_at_once(cx, to, origin, words)
    b.jump(done)
    b.start(slow)
    sites = site(cx, Access("shared", 4, words)), site(cx, Access("global", 4, words))
    with cx.conditional_code():
        _runtime(cx, to, origin, counts, words, sites)
    b.jump(done)
    b.start(done)


def _copy_at_once(cx: Lowering, to: Address, origin: Address, words: int) -> None:
    """A load and a store, with their fast ways."""
    b = cx.b
    values = [b.splat(v) for v in memory._load(cx, origin, Access("global", 4, words))]
    shared_access = Access("shared", 4, words)
    number = cx.program.site(cx, shared_access)
    form = addressing.linear_address(cx, to, "shared")
    if form is None or form.uniform or not layout.few_groups(form):
        addressing._slow_store(
            cx, addressing.vector_address(cx, to, "shared"), shared_access, number, values, quick=True
        )
    else:
        outlined.store(cx, form, shared_access, number, values)


def _arrive(cx: Lowering, ins: Instruction) -> None:
    """cp.async.mbarrier.arrive: the lane's copies so far arrive on a barrier."""
    space = memory_operands.space_of(ins)
    (where,) = columns(cx, addressing.vector_address(cx, address(ins, 0), space))
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
    reduce = _reduction(ins)
    spaces = [m.partition("::")[0] for m in ins.modifiers if m.partition("::")[0] in ("shared", "global")]
    counted = "mbarrier::complete_tx::bytes" in modifiers
    values = [addressing.vector_address(cx, address(ins, i), space) for i, space in enumerate(spaces)]
    values.append(cx.vector(ins.operands[2], "b32"))
    if counted:
        values.append(addressing.vector_address(cx, address(ins, 3), "shared"))
    areas = columns(cx, *values)
    null = Value("null", "ptr")
    sites = (site(cx, Access(s, 1, 1)) for s in spaces)
    kinds = [address_spaces.SPACES[s] for s in spaces]
    if spaces[0] == "shared":
        kinds[0] = CLUSTER_SPACE
    numbers = (constant("i32", kind) for kind in kinds)
    pointers = areas if counted else [*areas, null]
    arguments = (cx.warp, *sites, cx.active(), *pointers, *numbers, constant("i32", reduce))
    if "multicast::cluster" in modifiers:
        cx.b.call("void", "gs_bulk_multicast", *arguments, cta_masks(cx, ins.operands[4]))
    else:
        cx.b.call("void", "gs_bulk", *arguments)
    if "global" in spaces:
        side = addressing.vector_address(cx, address(ins, spaces.index("global")), "global")
        length = cx.b.resize(cx.vector(ins.operands[2], "b32"), "i64")
        cx.program.observer.bulk(cx, "bulk", side, length, constant("i32", int(not counted)))


def _reduction(ins: Instruction) -> int:
    """The number of what a cp.reduce does, 0 for a cp."""
    if "reduce" not in ins.modifiers:
        return 0
    op = next(m for m in ins.modifiers if m in TENSOR_OPERATIONS)
    return REDUCTIONS.index(operation(op, ins.type)) + 1
