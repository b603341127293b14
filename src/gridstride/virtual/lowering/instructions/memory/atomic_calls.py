"""What atom, red and their asynchronous forms are made of: operands, and the call of the function behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.virtual.ir.atomic_operations import AtomicOperation
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.addressing import vector_address
from gridstride.virtual.lowering.instructions.memory.atomic_functions import define, signature_name
from gridstride.virtual.ptx.module import Address, Operand, Register, Sink
from gridstride.virtual.ptx.operands import items
from gridstride.virtual.ptx.types import TYPES

_INTEGERS = ("u32", "s32", "u64", "s64")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ALLOWED = {
    "add": (*_INTEGERS, "f32", "f64", *_HALVES), "min": (*_INTEGERS, *_HALVES), "max": (*_INTEGERS, *_HALVES),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "inc": ("u32",), "dec": ("u32",),
    "exch": ("b32", "b64", "b128"), "cas": ("b16", "b32", "b64", "b128"),
}  # fmt: skip
"""The types each operation has (PTX ISA, atom)."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an atom or red says: its operation and type, and where."""

    op: str
    type: str
    space: str


def operation(op: str, ptx_type: str) -> AtomicOperation:
    """The function's operation and type: minima and maxima by sign, other integers by width."""
    if ptx_type in _INTEGERS:
        op = f"{ptx_type[0]}{op}" if op in ("min", "max") else op
        ptx_type = f"b{ptx_type[1:]}"
    return AtomicOperation(op, ptx_type)


def _write(
    cx: Lowering, parts: Parts, address: Operand, targets: tuple[Operand, ...], columns: Sequence[tuple[Operand, ...]]
) -> None:
    """One call for each element of the vector, each element being atomic on its own."""
    assert isinstance(address, Address)
    size = TYPES[parts.type].size
    space = "shared" if parts.space == "cluster" else parts.space
    if cx.program.generic_shared and space_of(cx.ins) == "generic":
        space = "generic"  # to the observer, which looks for lanes in shared memory
    access = Access(space, size, 1)
    site = cx.program.site(cx, access)
    # An atom whose old value nobody reads is a red to the hardware too: ptxas makes it one.
    unread = parts.op not in ("exch", "cas") and all(_unread(cx, target) for target in targets)
    cx.program.observer.access(cx, site, access, address, "red" if unread else "atom")
    where = vector_address(cx, address, space)
    results = [_call(cx, parts, site, _moved(cx, where, size * j), targets[j], c) for j, c in enumerate(columns)]
    # What releases has told the observer so before the access (watch_global, watch_cluster): all are left to acquire.
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


def unread(cx: Lowering) -> bool:
    """Whether nobody reads the old values of the atom at hand."""
    target = cx.ins.operands[0]
    return all(_unread(cx, item) for item in items(target))


def _unread(cx: Lowering, target: Operand) -> bool:
    """True where the old value goes to a register that is not read again."""
    if not isinstance(target, Register):
        return isinstance(target, Sink)
    block = cx.code.blocks[cx.block]
    position = next(i for i, ins in enumerate(block) if ins is cx.ins)
    for ins in block[position + 1 :]:
        if target.name in cx.code.reads(ins):
            return False
        if target.name in cx.code.writes(ins):
            return True
    return not any(target.name in cx.code.live_in[s] for s in cx.code.successors[cx.block])
