"""atom and red: lane by lane, the lowest first, atomic across all threads of the process.

The work is done by one function for each space, operation and type, written into the kernel's module on first use.
Every operation on global memory is sequentially consistent, which covers all orders and scopes. Shared memory belongs
to one thread of the process, so there a read and a write do.

Where all lanes hit one address, integer operations are reduced over the warp first and take one access; floating-point
ones keep the order of the lanes, which fixes their rounding, but take one access too if nobody wants the old values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.atomic_functions import define, signature_name
from gridstride.virtual.lowering.instructions.atomic_operations import Operation
from gridstride.virtual.lowering.instructions.floats import Family, check
from gridstride.virtual.lowering.instructions.memory import vector_address
from gridstride.virtual.lowering.ir import Value, constant
from gridstride.virtual.ptx.module import Address, Instruction, Operand, Register, Sink, Vector
from gridstride.virtual.ptx.types import TYPES

_INTEGERS = ("u32", "s32", "u64", "s64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ALLOWED = {
    "add": (*_INTEGERS, "f32", "f64", *_HALVES), "min": (*_INTEGERS, *_HALVES), "max": (*_INTEGERS, *_HALVES),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "inc": ("u32",), "dec": ("u32",),
    "exch": ("b32", "b64", "b128"), "cas": ("b16", "b32", "b64", "b128"),
}  # fmt: skip
"""The types each operation has (PTX ISA, atom)."""

_HINTS = {
    "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "global", "shared", "shared::cta",
    "shared::cluster",
    "noftz", "L2::cache_hint", "v2", "v4", "v8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parts:
    """What an atom or red says: its operation and type, and where."""

    op: str
    type: str
    space: str


def _parts(cx: Lowering, ins: Instruction) -> Parts:
    check(cx, ins, _HINTS | ALLOWED.keys())
    op = next((m for m in ins.modifiers if m in ALLOWED), "")
    if len(ins.types) != 1 or ins.types[0] not in ALLOWED.get(op, ()):
        raise cx.unsupported(f"`{ins.name}`")
    shared = {"shared", "shared::cta"} & set(ins.modifiers)
    if "shared::cluster" in ins.modifiers:
        return Parts(op, ins.types[0], "cluster")
    if not shared and "global" not in ins.modifiers and (op, ins.types[0]) == ("add", "f32"):
        return Parts(op, "f32", "generic")  # what becomes of subnormals is the memory's own business
    return Parts(op, ins.types[0], "shared" if shared else "global")


def operation(op: str, ptx_type: str) -> Operation:
    """The function's operation and type: minima and maxima by sign, other integers by width."""
    if ptx_type in _INTEGERS:
        op = f"{ptx_type[0]}{op}" if op in ("min", "max") else op
        ptx_type = f"b{ptx_type[1:]}"
    return Operation(op, ptx_type)


def atomic(cx: Lowering, ins: Instruction) -> None:
    """atom."""
    parts = _parts(cx, ins)
    targets = _items(ins.operands[0])
    compare = 2 if parts.op == "cas" else 1
    columns = zip(*(_items(o) for o in ins.operands[2 : 2 + compare]), strict=True)
    _write(cx, parts, ins.operands[1], targets, list(columns))


def reduce(cx: Lowering, ins: Instruction) -> None:
    """red."""
    if "async" in ins.modifiers:
        from gridstride.virtual.lowering.instructions.remote_stores import reduce_async

        reduce_async(cx, ins)
        return
    parts = _parts(cx, ins)
    if parts.op in ("exch", "cas"):
        raise cx.unsupported(f"`{ins.name}`")
    columns: list[tuple[Operand, ...]] = [(item,) for item in _items(ins.operands[1])]
    _write(cx, parts, ins.operands[0], (Sink(),) * len(columns), columns)


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _write(
    cx: Lowering, parts: Parts, address: Operand, targets: tuple[Operand, ...], columns: Sequence[tuple[Operand, ...]]
) -> None:
    """One call for each element of the vector, each element being atomic on its own."""
    if not isinstance(address, Address):
        raise cx.unsupported(f"such a form of `{cx.ins.name}`")
    size = TYPES[parts.type].size
    space = "shared" if parts.space == "cluster" else parts.space
    access = Access(space, size, 1)
    site = cx.program.site(cx, access)
    # An atom whose old value nobody reads is a red to the hardware too: ptxas makes it one.
    unread = parts.op not in ("exch", "cas") and all(_unread(cx, target) for target in targets)
    cx.program.observer.access(cx, site, access, address, "red" if unread else "atom")
    where = vector_address(cx, address, space)
    results = [_call(cx, parts, site, _moved(cx, where, size * j), targets[j], c) for j, c in enumerate(columns)]
    if {"acquire", "release", "acq_rel"} & set(cx.ins.modifiers):
        cx.program.observer.sync(cx)
    elif parts.space != "shared":
        cx.program.observer.acquired(cx)
    for target, result in zip(targets, results, strict=True):
        if result is not None:
            cx.set(target, result)


def _moved(cx: Lowering, where: Value, by: int) -> Value:
    return cx.b.op("add", where, constant(where.type, by)) if by else where


def _call(
    cx: Lowering, parts: Parts, site: int, where: Value, target: Operand, operands: tuple[Operand, ...]
) -> Value | None:
    """The old values, or None where nobody reads them."""
    what = operation(parts.op, parts.type)
    returns = parts.op in ("exch", "cas") or not _unread(cx, target)
    name = signature_name(parts.space, what, returns)
    if name not in cx.program.ir.defined:
        define(cx.program.ir, parts.space, what, returns=returns)
    values = [cx.vector(o, parts.type) for o in operands]
    result = cx.b.call(
        what.vector if returns else "void", name, cx.warp, constant("i32", site), cx.active(), where, *values
    )
    return result if returns else None


def _unread(cx: Lowering, target: Operand) -> bool:
    """True where the old value goes to a register that is not read again."""
    if not isinstance(target, Register):
        return isinstance(target, Sink)
    block = cx.code.blocks[cx.block]
    here = next(i for i, ins in enumerate(block) if ins is cx.ins)
    for ins in block[here + 1 :]:
        if target.name in cx.code.reads(ins):
            return False
        if target.name in cx.code.writes(ins):
            return True
    return not any(target.name in cx.code.live_in[s] for s in cx.code.successors[cx.block])


FAMILY: dict[str, Family] = {"atom": atomic, "red": reduce}
