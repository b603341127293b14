"""Loads and stores: ld, st, prefetch, cvta, isspacep, membar, fence; parameters of kernels and device functions."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import SPACES
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, vector_constant, wide
from gridstride.virtual.lowering import access as layout
from gridstride.virtual.lowering import outlined
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.memory_operands import ordered, remote, space_of
from gridstride.virtual.lowering.calls import load_parameter, write_area
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.addressing import (
    _long,
    _slow_store,
    linear_address,
    vector_address,
)
from gridstride.virtual.lowering.instructions.memory.cluster_addresses import (
    from_generic,
    in_cluster,
    load_remote,
    store_remote,
    to_generic,
)
from gridstride.virtual.lowering.instructions.memory.copy_operands import columns
from gridstride.virtual.lowering.observer import Stored
from gridstride.virtual.lowering.value_types import llvm_type
from gridstride.virtual.ptx.module import Address, Instruction, Operand, Symbol
from gridstride.virtual.ptx.operands import items
from gridstride.virtual.ptx.types import TYPES


def _parts(cx: Lowering, ins: Instruction, address: Operand) -> tuple[Access, Address]:
    """What an ld or st moves and where."""
    assert isinstance(address, Address)
    space = space_of(ins)
    _check_space(cx, ins, space, address)
    return Access(space, TYPES[ins.types[0]].size, ins.vector), address


def _check_space(cx: Lowering, ins: Instruction, space: str, address: Address) -> None:
    """Refuses a variable by name in an instruction for another state space."""
    if space == "generic" or not isinstance(address.base, Symbol):
        return
    name = address.base.name
    variable = cx.function.variables.get(name) or cx.program.module.variables.get(name)
    if variable is not None and variable.space != space:
        raise cx.unsupported(f"`{ins.name}` of `{name}`, which lies in .{variable.space} memory:")


def load(cx: Lowering, ins: Instruction) -> None:
    """ld, ldu."""
    access, address = _parts(cx, ins, ins.operands[1])
    if access.space == "param" and isinstance(address.base, Symbol):
        values = load_parameter(cx, address.base.name, address.offset, access)
    elif access.space == "local":
        values = _local_load(cx, address, access)
    else:
        values = _load(cx, address, access)
        if ordered(ins):
            cx.b.emit("fence acquire")
            cx.program.observer.acquired(cx)
    signed = ins.types[-1][0] == "s"
    for target, value in zip(items(ins.operands[0]), values, strict=True):
        cx.set(target, value, signed=signed)


def store(cx: Lowering, ins: Instruction) -> None:
    """st."""
    if "async" in ins.modifiers:
        from gridstride.virtual.lowering.instructions.memory.remote_stores import store_async

        store_async(cx, ins)
        return
    access, address = _parts(cx, ins, ins.operands[0])
    ptx_type = f"b{8 * access.size}"
    sources = items(ins.operands[1])
    if access.space == "param" and isinstance(address.base, Symbol):
        values = [cx.vector(i, ptx_type) for i in sources]
        write_area(cx, address.base.name, address.offset, access, values)
        return
    if ordered(ins):
        cx.b.emit("fence release")
    if access.space == "local":
        _local_store(cx, address, access, [cx.vector(i, ptx_type) for i in sources])
    else:
        _store(cx, address, access, sources, ptx_type)
        if ordered(ins):
            cx.program.observer.signalled(cx)


# -- addresses --------------------------------------------------------------------------------------------------------


# -- global, shared, const, generic -----------------------------------------------------------------------------------
def _load(cx: Lowering, address: Address, access: Access) -> list[Value]:
    site = cx.program.site(cx, access)
    form = linear_address(cx, address, access.space)
    cx.program.observer.access(cx, site, access, address, "load")
    if remote(cx.ins):
        uniform = form is not None and form.uniform
        return load_remote(cx, vector_address(cx, address, access.space), access, site, uniform=uniform)
    if _is_undivided(cx, access):
        return _load_undivided(cx, vector_address(cx, address, access.space), access, site)
    if form is None or not layout.few_groups(form):
        return _load_varying(cx, vector_address(cx, address, access.space), access, site)
    return outlined.load(cx, form, access, site)


def _is_undivided(cx: Lowering, access: Access) -> bool:
    """Whether other threads must see all elements of a lane's vector change at once.

    The PTX memory model takes its elements for accesses of their own, but every GPU makes one of up to 16 bytes, and
    CUB's look-back has a tile's state and its value in one.
    """
    return ordered(cx.ins) and access.count > 1 and access.bytes <= 16


def _load_undivided(cx: Lowering, addresses: Value, access: Access, site: int) -> list[Value]:
    out = _checked_copy(cx, addresses, Access(access.space, access.bytes, 1), site)
    loaded = cx.b.load(f"<{LANES * access.count} x {access.type}>", out, align=access.bytes)
    return [cx.b.shuffle(loaded, range(j, LANES * access.count, access.count)) for j in range(access.count)]


def _store_undivided(cx: Lowering, addresses: Value, access: Access, site: int, values: list[Value]) -> None:
    parts = values
    while len(parts) > 2:
        parts = [cx.b.shuffle(a, range(2 * LANES), z) for a, z in zip(parts[::2], parts[1::2], strict=True)]
    order = [j * LANES + lane for lane in range(LANES) for j in range(access.count)]
    single = Access(access.space, access.bytes, 1)
    _slow_store(cx, addresses, single, site, [cx.b.shuffle(parts[0], order, parts[1])])


def _slow_load(cx: Lowering, addresses: Value, access: Access, site: int) -> list[Value]:
    b, out = cx.b, _checked_copy(cx, addresses, access, site)
    step = access.size * LANES
    return [b.load(wide(access.type), b.offset(out, step * j), align=access.size) for j in range(access.count)]


def _checked_copy(cx: Lowering, addresses: Value, access: Access, site: int) -> Value:
    """Where all values are then, lane by lane with exact bounds; remembers the allocation for this site, or faults."""
    b = cx.b
    where, out = cx.program.scratch(cx)
    b.store(_long(cx, addresses), where)
    size, count = constant("i32", access.size), constant("i32", access.count)
    space = constant("i32", SPACES[access.space])
    b.call("void", "gs_load", cx.warp, constant("i32", site), cx.active(), where, out, size, count, space)
    return out


def _load_varying(cx: Lowering, addresses: Value, access: Access, site: int) -> list[Value]:
    if (access.size, access.count) not in GATHERS:
        return _slow_load(cx, addresses, access, site)
    b = cx.b
    name = f"gs_gather_{'shared' if access.space == 'shared' else 'global'}_{access.size}_{access.count}"
    warp, mask = cx.warp, cx.active()
    if access.count == 1:
        return [b.call(wide(access.type), name, warp, constant("i32", site), mask, addresses)]
    _, out = cx.program.scratch(cx)
    b.call("void", name, warp, constant("i32", site), mask, addresses, out)
    step = access.size * LANES
    return [b.load(wide(access.type), b.offset(out, step * j), align=access.size) for j in range(access.count)]


GATHERS = {(4, 1), (4, 2), (4, 4), (8, 1), (8, 2)}
"""(size, count) that the runtime gathers as vectors; the others go lane by lane."""


def _store(cx: Lowering, address: Address, access: Access, sources: tuple[Operand, ...], ptx_type: str) -> None:
    site = cx.program.site(cx, access)
    form = linear_address(cx, address, access.space)
    cx.program.observer.access(cx, site, access, address, "store", Stored(sources, ptx_type))
    if remote(cx.ins):
        values = [cx.vector(i, ptx_type) for i in sources]
        store_remote(cx, vector_address(cx, address, access.space), access, site, values)
        return
    if _is_undivided(cx, access):
        values = [cx.vector(i, ptx_type) for i in sources]
        _store_undivided(cx, vector_address(cx, address, access.space), access, site, values)
        return
    if form is None or not layout.few_groups(form):
        values = [cx.vector(i, ptx_type) for i in sources]
        _slow_store(cx, vector_address(cx, address, access.space), access, site, values, quick=True)
        return
    scalars = form.uniform and all(cx.uniform(i) for i in sources)
    values = [cx.scalar(i, ptx_type) if scalars else cx.vector(i, ptx_type) for i in sources]
    outlined.store(cx, form, access, site, values)


# -- local ------------------------------------------------------------------------------------------------------------
def _local_pointers(cx: Lowering, address: Address, access: Access, kind: str) -> Value:
    """Each lane's own copy; faults the lanes that leave their local memory."""
    b = cx.b
    offsets = vector_address(cx, address, "local")
    number = cx.program.site(cx, access)
    site = constant("i32", number)
    cx.program.observer.access(cx, number, access, address, kind)
    limit = cx.program.local_limit(cx, access.bytes)
    inside = b.compare("ult", layout._aligned(cx, offsets, access.bytes), b.splat(limit))
    bad = b.op("and", cx.active(), b.bitcast(cx.negate(inside), "i32"))
    with b.if_(b.compare("ne", bad, constant("i32", 0))):
        where, _ = cx.program.scratch(cx)
        b.store(_long(cx, offsets), where)
        b.call("void", "gs_bad_local", cx.warp, site, bad, where, constant("i32", access.bytes))
    cx.program.observer.local(cx, number, offsets, access, kind)
    stride = cx.program.local_stride(cx)
    lane = b.op("mul", vector_constant("i64", affine.LANE), b.splat(stride))
    long = b.op("add", _long(cx, offsets), lane)
    return b.define(f"<{LANES} x ptr>", f"getelementptr i8, ptr {b.pointer(cx.field('local')).name}, {long!r}")


def _local_load(cx: Lowering, address: Address, access: Access) -> list[Value]:
    base, mask = _local_pointers(cx, address, access, "load"), cx.active_bits()
    return [layout.gather(cx, _moved(cx, base, access.size * j), mask, access) for j in range(access.count)]


def _local_store(cx: Lowering, address: Address, access: Access, values: list[Value]) -> None:
    base, mask = _local_pointers(cx, address, access, "store"), cx.active_bits()
    for j, value in enumerate(values):
        layout.scatter(cx, _moved(cx, base, access.size * j), mask, access, value)


def _moved(cx: Lowering, pointers: Value, by: int) -> Value:
    if not by:
        return pointers
    return cx.b.define(pointers.type, f"getelementptr i8, {pointers!r}, {constant(f'<{LANES} x i64>', by)!r}")


# -- address conversion, fences ---------------------------------------------------------------------------------------
def convert_address(cx: Lowering, ins: Instruction) -> None:
    """cvta, cvta.to: generic addresses are real ones; shared and local windows are moved by their base."""
    space, type_ = space_of(ins), ins.type
    (source,) = cx.sources(type_)
    if space == "param" and "to" not in ins.modifiers and type_ == "u64":
        source = _full_parameter_address(cx, source)
    if space not in ("shared", "local"):
        cx.set(ins.operands[0], source)
        return
    b = cx.b
    long = b.resize(source, "i64")
    if remote(ins):
        result = from_generic(cx, long) if "to" in ins.modifiers else to_generic(cx, long)
        cx.set(ins.operands[0], b.resize(result, llvm_type(type_)))
        return
    base = cx.field(space)
    if space == "local":
        stride = b.splat(cx.program.local_stride(cx))
        lane = b.op("mul", vector_constant("i64", affine.LANE), stride)
        base, long = b.op("add", b.splat(base), lane), b.splat(long)
    elif long.wide:
        base = b.splat(base)
    result = b.op("sub" if "to" in ins.modifiers else "add", long, base)
    cx.set(ins.operands[0], b.resize(result, llvm_type(type_)))


def _full_parameter_address(cx: Lowering, source: Value) -> Value:
    """A parameter's address, of which `mov.b32` may have kept the lower half: Triton has param space in 32 bits."""
    b, params = cx.b, cx.field("params")
    base = b.define("i64", f"ptrtoint ptr {params.name} to i64")
    if source.wide:
        base = b.splat(base)
    distance = b.op("sub", b.resize(source, "i32"), b.resize(base, "i32"))
    return b.op("add", base, b.resize(distance, "i64", signed=True))


def is_space(cx: Lowering, ins: Instruction) -> None:
    """isspacep."""
    b, space = cx.b, space_of(ins)
    (address,) = cx.sources("b64")
    if cx.program.clusters and (remote(ins) or space not in ("shared", "local")):
        inside = in_cluster(cx, address)
        cx.set(ins.operands[0], inside if remote(ins) else cx.negate(inside))
        return
    if space in ("shared", "local"):
        base, size = cx.program.window(cx, space)
        distance = b.op("sub", address, b.splat(base) if address.wide else base)
        inside = b.compare("ult", distance, b.splat(size) if address.wide else size)
    else:
        shared, size = cx.program.window(cx, "shared")
        distance = b.op("sub", address, b.splat(shared) if address.wide else shared)
        inside = b.compare("uge", distance, b.splat(size) if address.wide else size)
    cx.set(ins.operands[0], inside)


def discard(cx: Lowering, ins: Instruction) -> None:
    """discard: what lies in a line of L2 may be lost, as if anything had been written there. It stays where it is in a
    launch in turn, and is lost where lanes take turns in reverse.
    """
    b, address = cx.b, ins.operands[0]
    assert isinstance(address, Address)
    site = constant("i32", cx.program.site(cx, Access("global", 1, 1)))
    (where,) = columns(cx, vector_address(cx, address, "global"))
    b.call("void", "gs_discard", cx.warp, site, cx.active(), where)


def fence(cx: Lowering, ins: Instruction) -> None:
    """membar, fence: orders memory for other blocks, which run on other threads of the process."""
    cx.b.emit("fence seq_cst")
    cx.program.observer.sync(cx)
