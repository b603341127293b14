"""Clusters: mapa, getctarank, barrier.cluster.arrive, and ld and st of distributed shared memory."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import NO_BLOCK_ADDRESS, OFFSET_MASK, RANK_SHIFT
from gridstride.virtual.abi.execution_records import CLUSTER
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, wide
from gridstride.virtual.lowering import access as layout
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.special_registers import cluster, rank
from gridstride.virtual.lowering.value_types import llvm_type
from gridstride.virtual.ptx.module import Instruction

# -- what a block knows of its cluster --------------------------------------------------------------------------------


# -- addresses --------------------------------------------------------------------------------------------------------
def _as(cx: Lowering, value: Value, model: Value) -> Value:
    return cx.b.splat(value) if model.wide else value


def map_address(cx: Lowering, ins: Instruction) -> None:
    """mapa: an address of the block's shared memory as it is in another block of the cluster."""
    b, type_ = cx.b, ins.type
    address, which = cx.sources(type_, "u32")
    if "shared::cluster" in ins.modifiers:
        number = b.intrinsic("umin", which, constant(which.type, 254))
        number = b.op("add", number, constant(number.type, 1))
        top = b.resize(b.op("shl", number, constant(number.type, RANK_SHIFT)), llvm_type(type_))
        offset = b.op("and", address, constant(address.type, OFFSET_MASK))
        cx.set(ins.operands[0], b.op("or", offset, top))
        return
    address, which = b.resize(address, "i64"), b.resize(which, "i64")
    base = _as(cx, b.get(cluster(cx), CLUSTER, "shared"), address)
    size = _as(cx, b.resize(b.get(cluster(cx), CLUSTER, "size"), "i64"), address)
    offset = b.op("and", b.op("sub", address, base), constant(address.type, OFFSET_MASK))
    first = b.op("shl", which, constant(which.type, RANK_SHIFT))
    mapped = b.op("add", b.op("add", base, first), offset)
    # A rank that the cluster has not is no fault yet: compilers compute addresses ahead that are never used.
    number = b.op("add", first, constant(first.type, 1 << RANK_SHIFT))
    missing = b.op("add", b.op("add", number, offset), constant(first.type, NO_BLOCK_ADDRESS))
    real = b.select(b.compare("ult", which, size), mapped, missing)
    cx.set(ins.operands[0], b.resize(real, llvm_type(type_)))


def rank_of_address(cx: Lowering, ins: Instruction) -> None:
    """getctarank: the block in whose shared memory an address is."""
    b = cx.b
    (address,) = cx.sources(ins.type)
    own = _as(cx, rank(cx), address)
    if "shared::cluster" in ins.modifiers:
        top = b.resize(b.op("lshr", address, constant(address.type, RANK_SHIFT)), "i32")
        mapped_rank = b.op("sub", top, constant(top.type, 1))
        cx.set(ins.operands[0], b.select(b.compare("eq", top, constant(top.type, 0)), own, mapped_rank))
        return
    address = b.resize(address, "i64")
    base = _as(cx, b.get(cluster(cx), CLUSTER, "shared"), address)
    distance = b.op("sub", address, base)
    cx.set(ins.operands[0], b.resize(b.op("lshr", distance, constant(distance.type, RANK_SHIFT)), "i32"))


def to_generic(cx: Lowering, address: Value) -> Value:
    """A `shared::cluster` address (i64) as a generic one."""
    b = cx.b
    number = b.op("lshr", address, constant(address.type, RANK_SHIFT))
    first = b.op("sub", address, constant(address.type, 1 << RANK_SHIFT))
    in_other_block = b.op("add", _as(cx, b.get(cluster(cx), CLUSTER, "shared"), address), first)
    in_own_block = b.op("add", _as(cx, cx.field("shared"), address), address)
    size = _as(cx, b.resize(b.get(cluster(cx), CLUSTER, "size"), "i64"), address)
    missing = b.op("add", address, constant(address.type, NO_BLOCK_ADDRESS))
    in_other_block = b.select(b.compare("ule", number, size), in_other_block, missing)
    return b.select(b.compare("eq", number, constant(number.type, 0)), in_own_block, in_other_block)


def from_generic(cx: Lowering, address: Value) -> Value:
    """A generic address (i64) in some block of the cluster as a `shared::cluster` one."""
    b = cx.b
    base = _as(cx, b.get(cluster(cx), CLUSTER, "shared"), address)
    return b.op("add", b.op("sub", address, base), constant(address.type, 1 << RANK_SHIFT))


def in_cluster(cx: Lowering, address: Value) -> Value:
    """An i1: a generic address is shared memory of some block of the cluster."""
    b = cx.b
    distance = b.op("sub", address, _as(cx, b.get(cluster(cx), CLUSTER, "shared"), address))
    size = _as(cx, b.resize(b.get(cluster(cx), CLUSTER, "size"), "i64"), address)
    extent = _as(cx, cx.field("shared_size"), address)
    rank_exists = b.compare("ult", b.op("lshr", distance, constant(distance.type, RANK_SHIFT)), size)
    return b.op(
        "and", rank_exists, b.compare("ult", b.op("and", distance, constant(distance.type, OFFSET_MASK)), extent)
    )


# -- ld and st --------------------------------------------------------------------------------------------------------
def _pointers(cx: Lowering, addresses: Value, access: Access, site: int) -> Value:
    b, size = cx.b, constant("i32", access.bytes)
    pointers = b.call(wide("i64"), "gs_cluster_where", cx.warp, constant("i32", site), cx.active(), addresses, size)
    return b.define(wide("ptr"), f"inttoptr {pointers!r} to {wide('ptr')}")


def _moved(cx: Lowering, pointers: Value, by: int) -> Value:
    if not by:
        return pointers
    return cx.b.define(pointers.type, f"getelementptr i8, {pointers!r}, {constant(f'<{LANES} x i64>', by)!r}")


def load_remote(cx: Lowering, addresses: Value, access: Access, site: int, *, uniform: bool) -> list[Value]:
    """ld.shared::cluster from 32 addresses; scalars where all lanes read one place."""
    b, mask = cx.b, cx.active_bits()
    pointers = _pointers(cx, addresses, access, site)
    values = [layout.gather(cx, _moved(cx, pointers, access.size * j), mask, access) for j in range(access.count)]
    if not uniform:
        return values
    lane = b.call("i32", "llvm.cttz.i32", cx.active(), constant("i1", False))
    lane = b.op("and", lane, constant("i32", LANES - 1))
    return [b.extract(v, lane) for v in values]


def store_remote(cx: Lowering, addresses: Value, access: Access, site: int, values: list[Value]) -> None:
    """st.shared::cluster to 32 addresses; of lanes with one address the highest stays."""
    mask, pointers = cx.active_bits(), _pointers(cx, addresses, access, site)
    for j, value in enumerate(values):
        layout.scatter(cx, _moved(cx, pointers, access.size * j), mask, access, value)


# -- the barrier ------------------------------------------------------------------------------------------------------
def arrive(cx: Lowering) -> None:
    """barrier.cluster.arrive: the lanes are counted and go on; control.py has the wait."""
    site, relaxed = constant("i32", cx.program.site(cx)), constant("i1", "relaxed" in cx.ins.modifiers)
    with cx.b.if_(cx.b.compare("ne", cx.active(), constant("i32", 0))):
        cx.b.call("void", "gs_cluster_arrive", cx.warp, site, cx.active(), relaxed)
