"""Addresses of a warp's accesses as vectors, and the stores that check each lane's."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, SPACES
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, bits, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.memory_operands import remote
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.linear_values import LlvmScalars
from gridstride.virtual.lowering.value_types import llvm_type
from gridstride.virtual.ptx.module import Address, Instruction, Register


def number_of(ins: Instruction, space: str) -> int:
    """The number by which the runtime knows the space of an instruction's address."""
    return CLUSTER_SPACE if space == "shared" and remote(ins) else SPACES[space]


def linear_address(cx: Lowering, address: Address, space: str) -> Affine | None:
    """The address as a linear form, 32 bits wide in shared memory; None where it varies freely."""
    form = cx.linear(address.base, 64)
    if form is None:
        return None
    scalars, width = LlvmScalars(cx.b), 32 if space in ("shared", "local") else 64
    if form.width == 64 and width == 32:
        form = affine.truncate(scalars, form)
    elif form.width == 32 and width == 64:
        form = affine.extend(scalars, form, False)
    if form is None or not address.offset:
        return form
    return affine.add(scalars, form, affine.fixed(scalars, width, address.offset))


def vector_address(cx: Lowering, address: Address, space: str) -> Value:
    """The address of every lane; i32 offsets in shared and local memory, else i64."""
    type_ = "b32" if space in ("shared", "local") else "b64"
    if (
        isinstance(address.base, Register)
        and type_ == "b64"
        and bits(llvm_type(cx.code.registers.get(address.base.name, "b64"))) < 64
    ):
        base = cx.b.resize(cx.vector(address.base, "b32"), "i64")
    else:
        base = cx.vector(address.base, type_)
    return cx.b.op("add", base, constant(base.type, address.offset)) if address.offset else base


def _long(cx: Lowering, addresses: Value) -> Value:
    return cx.b.resize(addresses, "i64")


def _slow_store(
    cx: Lowering, addresses: Value, access: Access, site: int, values: list[Value], *, quick: bool = False
) -> None:
    b = cx.b
    if quick and access.count == 1 and access.size in (4, 8):
        name = f"gs_scatter_{'shared' if access.space == 'shared' else 'global'}_{access.size}"
        b.call("void", name, cx.warp, constant("i32", site), cx.active(), addresses, values[0])
        return
    where, out = cx.program.scratch(cx)
    b.store(_long(cx, addresses), where)
    for j, value in enumerate(values):
        b.store(value, b.offset(out, access.size * LANES * j), align=access.size)
    size, count = constant("i32", access.size), constant("i32", access.count)
    space = constant("i32", SPACES[access.space])
    b.call("void", "gs_store", cx.warp, constant("i32", site), cx.active(), where, out, size, count, space)
