"""Asynchronous copies: cp.async in groups or on barriers, cp.async.bulk; elect.sync is in warp.py.

In the fast build a copy is made where it is issued. In the observed build it is queued and lands as late as the rules
allow (runtime/copies.py), so that a wait that is missing shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.lowering import access as layout
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions import memory
from gridstride.virtual.lowering.instructions.atomics import ALLOWED, operation
from gridstride.virtual.lowering.instructions.floats import check
from gridstride.virtual.lowering.ir import Value, constant, wide
from gridstride.virtual.lowering.program import Blind
from gridstride.virtual.lowering.runtime.cluster_memory import CLUSTER_SPACE
from gridstride.virtual.lowering.runtime.reduce import REDUCTIONS
from gridstride.virtual.machine.layout import LANES
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Operand, Register

_HINTS = {"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}
_REDUCTIONS = frozenset("add min max and or xor inc dec".split())
_HALVES = ("f16", "bf16")
MOST_COLUMNS = 8


def columns(cx: Lowering, *values: Value) -> list[Value]:
    """Vectors of 32 i64 in memory, in slots that all instructions of a function share."""
    b, areas = cx.b, cx.program.scratch_of(cx).areas
    assert len(values) <= MOST_COLUMNS
    if "%columns" not in areas:
        areas["%columns"] = b.alloca(f"[{MOST_COLUMNS * LANES * 8} x i8]", align=64)
    found = []
    for j, value in enumerate(values):
        place = b.offset(areas["%columns"], j * LANES * 8)
        b.store(b.resize(b.splat(value), "i64"), place)
        found.append(place)
    return found


def cta_masks(cx: Lowering, operand: Operand) -> Value:
    """The blocks of the cluster that a multicast names, 16 bits for each lane, in memory."""
    b, areas = cx.b, cx.program.scratch_of(cx).areas
    if "%masks" not in areas:
        areas["%masks"] = b.alloca(wide("i64"), align=64)
    mask = b.resize(cx.vector(operand, "b16"), "i64")
    b.store(mask, areas["%masks"])
    return areas["%masks"]


def address(cx: Lowering, ins: Instruction, index: int) -> Address:
    """An operand that must be an address."""
    operand = ins.operands[index] if index < len(ins.operands) else None
    if not isinstance(operand, Address):
        raise cx.unsupported(f"such a form of `{ins.name}`")
    return operand


def site(cx: Lowering, access: Access | None = None) -> Value:
    """A new site as an i32."""
    return constant("i32", cx.program.site(cx, access))


def copy(cx: Lowering, ins: Instruction) -> None:
    """cp.async, cp.async.bulk, their groups and waits."""
    said = set(ins.modifiers)
    if "async" not in said or ("reduce" in said and "bulk" not in said):
        raise cx.unsupported(f"`{ins.name}`")
    if "tensor" in said and "prefetch" not in said:
        from gridstride.virtual.lowering.instructions.tensor_copies import tensor_copy

        tensor_copy(cx, ins)
    elif "bulk" in said:
        _bulk(cx, ins, said)
    elif "mbarrier" in said:
        _arrive(cx, ins)
    elif {"commit_group", "wait_group", "wait_all"} & said:
        _group(cx, ins, said, "gs_copies")
    else:
        _copy(cx, ins)


def _group(cx: Lowering, ins: Instruction, said: set[str], room: str) -> None:
    """commit_group, wait_group N, wait_all."""
    if "commit_group" in said:
        cx.b.call("void", f"{room}_commit", cx.warp, cx.active())
        return
    pending = constant("i32", -1)
    if "wait_group" in said:
        operand = ins.operands[0] if ins.operands else None
        if not isinstance(operand, Immediate):
            raise cx.unsupported(f"such a form of `{ins.name}`")
        pending = constant("i32", operand.bits)
    cx.b.call("void", f"{room}_wait", cx.warp, cx.active(), pending)


# -- cp.async ---------------------------------------------------------------------------------------------------------
def _copy(cx: Lowering, ins: Instruction) -> None:
    check(cx, ins, {"async", "ca", "cg", "shared", "shared::cta", "global", *_HINTS})
    to, origin = address(cx, ins, 0), address(cx, ins, 1)
    wanted, *more = ins.operands[2:] or (None,)
    if "L2::cache_hint" in ins.modifiers:
        more = more[:-1]
    size = wanted.bits if isinstance(wanted, Immediate) else 0
    if size not in ((16,) if "cg" in ins.modifiers else (4, 8, 16)):
        raise cx.unsupported(f"a copy of {size} bytes with `{ins.name}`")
    counts = _counts(cx, more, size)
    words = size // 4
    if not isinstance(cx.program.observer, Blind):
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
    targets, sources = memory.vector_address(cx, to, "shared"), memory.vector_address(cx, origin, "global")
    places = columns(cx, targets, sources, counts)
    b.call("void", "gs_copy", cx.warp, *sites, cx.active(), *places, constant("i32", 4 * words))


def _later(cx: Lowering, to: Address, origin: Address, counts: Value | None, words: int) -> None:
    """The observed build: counted here, copied when waited for."""
    there, here = Access("shared", 4, words), Access("global", 4, words)
    numbers = cx.program.site(cx, there), cx.program.site(cx, here)
    cx.program.observer.access(cx, numbers[1], here, origin, "fetch")
    cx.program.observer.access(cx, numbers[0], there, to, "async")
    sites = constant("i32", numbers[0]), constant("i32", numbers[1])
    _runtime(cx, to, origin, counts or constant(wide("i32"), 4 * words), words, sites)


def _now_if_whole(cx: Lowering, to: Address, origin: Address, counts: Value, words: int) -> None:
    """The quick way where every lane copies all of its bytes, as all but the tiles at an edge do."""
    b = cx.b
    whole = b.bitcast(b.compare("eq", counts, constant(counts.type, 4 * words)), "i32")
    short = b.op("and", cx.active(), b.op("xor", whole, constant("i32", -1)))
    quick, slow, done = b.new_label("whole"), b.new_label("short"), b.new_label("copied")
    b.branch(b.compare("eq", short, constant("i32", 0)), quick, slow, likely=True)
    b.start(quick)
    with cx.aside():
        _now(cx, to, origin, words)
    b.jump(done)
    b.start(slow)
    sites = site(cx, Access("shared", 4, words)), site(cx, Access("global", 4, words))
    with cx.aside():
        _runtime(cx, to, origin, counts, words, sites)
    b.jump(done)
    b.start(done)


def _now(cx: Lowering, to: Address, origin: Address, words: int) -> None:
    """A load and a store, with their fast ways."""
    b = cx.b
    values = [b.splat(v) for v in memory._load(cx, origin, Access("global", 4, words))]
    there = Access("shared", 4, words)
    number = cx.program.site(cx, there)
    form = memory.linear_address(cx, to, "shared")
    groups = layout.groups_of(cx, form) if form is not None and not form.uniform else None
    if groups is None:
        memory._slow_store(cx, memory.vector_address(cx, to, "shared"), there, number, values, quick=True)
        return
    ok = layout.checks(cx, groups, there, number)
    fast, slow, done = b.new_label("fast"), b.new_label("slow"), b.new_label("put")
    b.branch(ok, fast, slow, likely=True)
    b.start(fast)
    with cx.aside():
        layout.store_groups(cx, groups, there, values)
    b.jump(done)
    b.start(slow)
    with cx.aside():
        memory._slow_store(cx, memory.vector_address(cx, to, "shared"), there, number, values)
    b.jump(done)
    b.start(done)


def _arrive(cx: Lowering, ins: Instruction) -> None:
    """cp.async.mbarrier.arrive: the lane's copies so far arrive on a barrier."""
    check(cx, ins, {"async", "mbarrier", "arrive", "noinc", "shared", "shared::cta"})
    space = memory.space_of(ins)
    (where,) = columns(cx, memory.vector_address(cx, address(cx, ins, 0), space))
    more = constant("i32", int("noinc" not in ins.modifiers))
    number, kind = site(cx), constant("i32", memory.SPACES[space])
    cx.b.call("void", "gs_copies_arrive", cx.warp, number, cx.active(), where, kind, more)


# -- bulk copies ------------------------------------------------------------------------------------------------------
def _bulk(cx: Lowering, ins: Instruction, said: set[str]) -> None:
    if "prefetch" in said:
        return  # a hint
    if {"commit_group", "wait_group"} & said:
        _group(cx, ins, said, "gs_bulk")
        return
    reduce = _reduction(cx, ins)
    spaces = [m.partition("::")[0] for m in ins.modifiers if m.partition("::")[0] in ("shared", "global")]
    if len(spaces) != 2 or len(ins.operands) < 3:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    counted = "mbarrier::complete_tx::bytes" in said
    values = [memory.vector_address(cx, address(cx, ins, i), space) for i, space in enumerate(spaces)]
    values.append(cx.vector(ins.operands[2], "b32"))
    if counted:
        values.append(memory.vector_address(cx, address(cx, ins, 3), "shared"))
    places = columns(cx, *values)
    null = Value("null", "ptr")
    sites = (site(cx, Access(s, 1, 1)) for s in spaces)
    kinds = [memory.SPACES[s] for s in spaces]
    if spaces[0] == "shared":
        kinds[0] = CLUSTER_SPACE
    numbers = (constant("i32", kind) for kind in kinds)
    pointers = places if counted else [*places, null]
    arguments = (cx.warp, *sites, cx.active(), *pointers, *numbers, constant("i32", reduce))
    if "multicast::cluster" not in said:
        cx.b.call("void", "gs_bulk", *arguments)
    elif counted and len(ins.operands) > 4:
        cx.b.call("void", "gs_bulk_multicast", *arguments, cta_masks(cx, ins.operands[4]))
    else:
        raise cx.unsupported(f"such a form of `{ins.name}`")
    if "global" in spaces:
        side = memory.vector_address(cx, address(cx, ins, spaces.index("global")), "global")
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


FAMILY = {"cp": copy}
