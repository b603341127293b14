"""What the lanes of a warp do together: vote match redux elect activemask, bar.warp.sync, bar.arrive, nanosleep.

The lanes that meet at an instruction are the current group: the code generator brings lanes together again before they
run on. The `.sync` forms work on the part of the member mask that is in the group; lanes of one group may name
different masks, as the tiles of cooperative groups do.
"""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.abi.execution_records import LAUNCH, SPINNING, WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, vector_constant, wide
from gridstride.virtual.lowering.barrier_operands import barrier_operands
from gridstride.virtual.lowering.bounded_wait import in_bounded_wait, patient
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory import cluster_addresses
from gridstride.virtual.lowering.instructions.warp.shuffles import ALL, LANE, set_pair
from gridstride.virtual.ptx.module import Instruction


# -- member masks -----------------------------------------------------------------------------------------------------
def _members(cx: Lowering, ins: Instruction) -> Value | None:
    """The member mask of a .sync form (a scalar or a vector), None of one without."""
    if "sync" not in ins.modifiers:
        return None
    members = cx.value(ins.operands[-1], "b32")
    cx.program.observer.members(cx, members)
    return members


def _by_group(cx: Lowering, members: Value | None, type_: str, compute: Callable[[Value], Value]) -> Value:
    """`compute(lanes)`, of LLVM type `type_`, for the executing lanes of each member mask: a scalar if there is one."""
    b, active = cx.b, cx.active()
    if members is None:
        return compute(active)
    if not members.wide:
        return compute(b.op("and", active, members))
    remaining, result = b.alloca("i32"), b.alloca(wide(type_), align=64)
    b.store(active, remaining)
    b.store(constant(wide(type_), 0), result)
    with b.loop() as done:
        now = b.load("i32", remaining)
        b.break_if(b.compare("eq", now, constant("i32", 0)), done)
        mask = b.extract(members, b.call("i32", "llvm.cttz.i32", now, constant("i1", True)))
        group = b.op("and", now, b.bitcast(b.compare("eq", members, b.splat(mask)), "i32"))
        group_value = b.splat(compute(b.op("and", active, mask)))
        b.store(b.select(b.bitcast(group, wide("i1")), group_value, b.load(wide(type_), result)), result)
        b.store(b.op("xor", now, group), remaining)
    return b.load(wide(type_), result)


# -- vote -------------------------------------------------------------------------------------------------------------
def vote(cx: Lowering, ins: Instruction) -> None:
    """vote.all, .any, .uni, .ballot, with and without .sync."""
    mode = next(m for m in ins.modifiers if m in ("all", "any", "uni", "ballot"))
    b = cx.b
    bits = b.bitcast(cx.vector(ins.operands[1], "pred"), "i32")
    zero = constant("i32", 0)

    def count(group: Value) -> Value:
        yes = b.op("and", bits, group)
        if mode == "ballot":
            return yes
        if mode == "any":
            return b.compare("ne", yes, zero)
        every = b.compare("eq", yes, group)
        return every if mode == "all" else b.op("or", every, b.compare("eq", yes, zero))

    cx.set(ins.operands[0], _by_group(cx, _members(cx, ins), "i32" if mode == "ballot" else "i1", count))


# -- match ------------------------------------------------------------------------------------------------------------
def match(cx: Lowering, ins: Instruction) -> None:
    """match.any.sync: which members hold the lane's value; match.all.sync: the members, if all hold one value."""
    value = cx.vector(ins.operands[1], ins.type)
    if "any" in ins.modifiers:
        members = _members(cx, ins)
        members = cx.b.splat(constant("i32", ALL) if members is None else members)
        equal = _equal_lanes(cx, value)
        cx.set(ins.operands[0], cx.b.op("and", equal, members))
        return
    all_same = _by_group(cx, _members(cx, ins), "i32", lambda group: _uniform_group(cx, value, group))
    set_pair(cx, ins.operands[0], all_same, lambda: cx.b.compare("ne", all_same, constant(all_same.type, 0)))


def _equal_lanes(cx: Lowering, value: Value) -> Value:
    """For each executing lane, the executing lanes with the same value."""
    b = cx.b
    active = cx.active()
    remaining, equal_lanes = b.alloca("i32"), b.alloca(wide("i32"), align=64)
    b.store(active, remaining)
    b.store(constant(wide("i32"), 0), equal_lanes)
    with b.loop() as done:
        now = b.load("i32", remaining)
        b.break_if(b.compare("eq", now, constant("i32", 0)), done)
        first = b.call("i32", "llvm.cttz.i32", now, constant("i1", True))
        equal = b.compare("eq", value, b.splat(b.extract(value, first)))
        group = b.op("and", b.bitcast(equal, "i32"), active)
        b.store(b.select(equal, b.splat(group), b.load(wide("i32"), equal_lanes)), equal_lanes)
        b.store(b.op("and", now, b.op("xor", group, constant("i32", ALL))), remaining)
    return b.load(wide("i32"), equal_lanes)


def _uniform_group(cx: Lowering, value: Value, group: Value) -> Value:
    """The group where all its lanes hold one value, else 0."""
    b = cx.b
    first = b.call("i32", "llvm.cttz.i32", group, constant("i1", False))
    leader = b.extract(value, b.op("and", first, constant("i32", LANES - 1)))
    equal = b.bitcast(b.compare("eq", value, b.splat(leader)), "i32")
    is_full = b.compare("eq", b.op("and", equal, group), group)
    return b.select(is_full, group, constant("i32", 0))


# -- redux ------------------------------------------------------------------------------------------------------------
REDUCTIONS = {
    "add": ("add", 0), "and": ("and", -1), "or": ("or", 0), "xor": ("xor", 0),
    "umin": ("umin", -1), "umax": ("umax", 0), "smin": ("smin", (1 << 31) - 1), "smax": ("smax", -(1 << 31)),
}  # fmt: skip
"""LLVM's reduction of a vector and the value that changes nothing."""


def reduction_name(op: str, ptx_type: str) -> str:
    """add, and, or, xor; min and max with the sign of the type."""
    return f"{ptx_type[0]}{op}" if op in ("min", "max") else op


def redux(cx: Lowering, ins: Instruction) -> None:
    """redux.sync: one value from all members."""
    op = next(m for m in ins.modifiers if m in ("add", "min", "max", "and", "or", "xor"))
    b, value = cx.b, cx.vector(ins.operands[1], "b32")
    reduce, neutral = REDUCTIONS[reduction_name(op, ins.type)]

    def total(group: Value) -> Value:
        chosen = b.select(b.bitcast(group, wide("i1")), value, constant(value.type, neutral))
        return b.intrinsic(f"vector.reduce.{reduce}", chosen, result="i32")

    cx.set(ins.operands[0], _by_group(cx, _members(cx, ins), "i32", total))


# -- who is here ------------------------------------------------------------------------------------------------------
def active_mask(cx: Lowering, ins: Instruction) -> None:
    """activemask: the current group."""
    cx.set(ins.operands[0], cx.active())


def elect(cx: Lowering, ins: Instruction) -> None:
    """elect.sync: the lowest executing member leads, as on hardware; where lanes take turns in reverse the highest. PTX
    leaves open which it is, but says that it is the same each time.
    """
    b = cx.b
    back = b.compare("ne", b.get(cx.field("launch"), LAUNCH, "lanes_back"), constant("i32", 0))

    def first(group: Value) -> Value:
        lowest, above = (b.call("i32", f"llvm.{f}.i32", group, constant("i1", False)) for f in ("cttz", "ctlz"))
        return b.select(back, b.op("sub", constant("i32", LANES - 1), above), lowest)

    leader = b.splat(_by_group(cx, _members(cx, ins), "i32", first))
    set_pair(cx, ins.operands[0], leader, lambda: b.compare("eq", leader, vector_constant("i32", LANE)))


# -- barriers that hold nobody, sleeping, hints -----------------------------------------------------------------------
def barrier(cx: Lowering, ins: Instruction) -> None:
    """bar.warp.sync orders the lanes' memory accesses; bar.arrive and barrier.cta.arrive count lanes and go on."""
    b, modifiers = cx.b, set(ins.modifiers)
    if "warp" in modifiers:
        cx.program.observer.members(cx, cx.value(ins.operands[-1], "b32"))
        b.emit('fence syncscope("singlethread") seq_cst')
    elif "cluster" in modifiers:
        cluster_addresses.arrive(cx)
    else:
        which, count, vote_ = barrier_operands(cx, ins)
        site = constant("i32", cx.program.site(cx))
        b.call("i64", "gs_arrive", cx.warp, which, count, cx.active(), vote_, site)


def sleep(cx: Lowering, ins: Instruction) -> None:
    """nanosleep: in a loop, lets the other warps run; the time itself is a hint."""
    if not cx.code.spin_edges:
        return  # a kernel without waiting loops may run its warps on one stack, where none can give way
    b = cx.b
    anyone = b.compare("ne", cx.active(), constant("i32", 0))
    if in_bounded_wait(cx):
        anyone = b.op("and", anyone, b.op("xor", patient(cx, 1), constant("i1", True)))
    with b.if_(anyone):
        b.put(cx.warp, WARP, "site", cx.program.site(cx))
        b.call("void", "gs_yield", cx.warp, constant("i32", SPINNING))
