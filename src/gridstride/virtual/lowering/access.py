"""How one warp-wide access is laid out: groups of lanes with known distances, each one block of memory.

An address in linear form splits the warp into groups whose lanes lie at compile-time distances from one scalar address.
Each group is then one bounds check and one vector load or store instead of 32.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.memory_records import SITE
from gridstride.virtual.ir.builder import Value, constant, vector_constant
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.linear_values import LlvmScalars

MAX_GROUPS = 4
MAX_CHUNK = 128
"""Elements that one covering load may have; wider spreads are gathered."""


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Lanes whose addresses are `address + offset[lane]`; `valid` (an i1 or None) says that no index wrapped."""

    lanes: tuple[int, ...]
    offsets: tuple[int, ...]
    address: Value
    valid: Value | None


@dataclass(frozen=True, slots=True)
class Access:
    """What an ld or st moves: `count` elements of `size` bytes per lane, at `space`."""

    space: str
    size: int
    count: int

    @property
    def bytes(self) -> int:
        return self.size * self.count

    @property
    def type(self) -> str:
        return f"i{8 * self.size}"


def groups_of(cx: Lowering, form: Affine) -> list[LaneGroup]:
    """The groups of a linear address."""
    return [_group(cx, form, members) for members in members_of(form)]


def members_of(form: Affine) -> list[tuple[int, ...]]:
    """The lanes of each group."""
    inner = form.extended.inner if form.extended else None
    keys: dict[tuple[int, ...], list[int]] = {}
    for i in range(LANES):
        own = [k[i] for k, _ in form.terms]
        keys.setdefault(tuple(own + ([k[i] for k, _ in inner.terms] if inner else [])), []).append(i)
    return [tuple(members) for members in keys.values()]


def few_groups(form: Affine) -> bool:
    """Whether it is worth it to look at the groups one by one."""
    if not form.terms and not (form.extended and form.extended.inner.terms):
        return True
    return len(members_of(form)) <= MAX_GROUPS


def widest_span(form: Affine, access: Access) -> int:
    """Bytes from the first to past the last that any group touches."""
    spans = []
    for members in members_of(form):
        offsets = _offsets(form, members)
        spans.append(max(offsets) - min(offsets) + access.bytes)
    return max(spans)


def _offsets(form: Affine, members: tuple[int, ...]) -> list[int]:
    """How far the lanes of a group are from its address."""
    e = form.extended
    return [form.k[i] + (e.scale * e.inner.k[i] if e else 0) for i in members]


def _group(cx: Lowering, form: Affine, members: tuple[int, ...]) -> LaneGroup:
    scalars, first = LlvmScalars(cx.b), members[0]
    address = _at(cx, form, first)
    offsets = _offsets(form, members)
    valid = None
    if form.extended:
        e = form.extended
        x = _at(cx, e.inner, first)
        distances = [e.inner.k[i] for i in members]
        valid = _no_wrap(cx, x, distances, e.signed)
        scaled = scalars.op("mul", form.width, scalars.extend(x, e.signed), constant("i64", e.scale))
        address = scalars.op("add", form.width, address, scaled)
    low = min(offsets)
    if low:
        address = scalars.op("add", form.width, address, scalars.constant(form.width, low))
    return LaneGroup(members, tuple(o - low for o in offsets), address, valid)


def _at(cx: Lowering, form: Affine, lane: int) -> Value:
    """base + Σ u · k[lane]: the part of a form that its constants do not give."""
    scalars, value = LlvmScalars(cx.b), form.base
    for k, u in form.terms:
        if k[lane]:
            term = scalars.op("mul", form.width, u, scalars.constant(form.width, k[lane]))
            value = scalars.op("add", form.width, value, term)
    return value  # type: ignore[no-any-return]


def _no_wrap(cx: Lowering, x: Value, distances: list[int], signed: bool) -> Value | None:
    b, valid = cx.b, None
    for d in {min(distances), max(distances)} - {0}:
        name = f"{'s' if signed else 'u'}{'add' if signed or d > 0 else 'sub'}"
        by = constant("i32", d if signed else abs(d))
        pair = b.call("{ i32, i1 }", f"llvm.{name}.with.overflow.i32", x, by)
        over = b.define("i1", f"extractvalue {{ i32, i1 }} {pair.name}, 1")
        fine = cx.negate(over)
        valid = fine if valid is None else b.op("and", valid, fine)
    return valid


def span(group: LaneGroup, access: Access) -> int:
    """Bytes from the first to past the last that the group touches."""
    return max(group.offsets) + access.bytes


def checks(cx: Lowering, groups: list[LaneGroup], access: Access, bound: Value) -> Value:
    """An i1: every group lies inside its allocation, aligned, and no index wrapped.

    `bound`: how many aligned places shared memory has for the widest group (i32), or where the site's record of the
    allocation is that it last hit (ptr).
    """
    b = cx.b
    ok: Value | None = None
    for g in groups:
        inside = (inside_shared if access.space == "shared" else inside_global)(cx, g.address, access, bound)
        # Lanes at distances that the alignment does not divide are left to the slow path.
        for condition in (inside, g.valid):
            if condition is not None:
                ok = condition if ok is None else b.op("and", ok, condition)
    assert ok is not None
    return ok


def _aligned(cx: Lowering, distance: Value, align: int) -> Value:
    """Rotates the bits that must be zero to the top, so that one comparison finds them."""
    shift = align.bit_length() - 1
    if not shift:
        return distance
    return cx.b.intrinsic("fshr", distance, distance, constant(distance.type, shift))


def inside_global(cx: Lowering, address: Value, access: Access, entry: Value) -> Value:
    """Against the allocation that this site last hit: the slow path looks others up and remembers them."""
    b = cx.b
    low = b.load("i64", entry)
    limit = b.load("i64", b.offset(entry, SITE.offset["limit"]))
    distance = b.op("sub", address, low)
    return b.compare("ult", _aligned(cx, distance, access.bytes), limit)


def inside_shared(cx: Lowering, address: Value, access: Access, limit: Value) -> Value:
    return cx.b.compare("ult", _aligned(cx, address, access.bytes), limit)


def pointer(cx: Lowering, address: Value, access: Access) -> Value:
    """Where an address of the access' space is in this process."""
    b = cx.b
    if access.space == "shared":
        return b.offset(b.pointer(cx.field("shared")), b.resize(address, "i64"))
    return b.pointer(address)


# -- loads ------------------------------------------------------------------------------------------------------------
def load_groups(cx: Lowering, groups: list[LaneGroup], access: Access) -> list[Value]:
    """One vector per element; lanes in no group do not exist, so every lane is filled."""
    parts = [_load_group(cx, g, access) for g in groups]
    columns = []
    for j in range(access.count):
        merged = parts[0][j]
        for g, part in zip(groups[1:], parts[1:], strict=True):
            inside = set(g.lanes)
            merged = cx.b.shuffle(merged, [LANES + i if i in inside else i for i in range(LANES)], part[j])
        columns.append(merged)
    return columns


def load_one(cx: Lowering, base: Value, access: Access) -> list[Value]:
    """The elements at one pointer, as scalars."""
    b, step = cx.b, access.size
    return [b.load(access.type, b.offset(base, step * j), align=step) for j in range(access.count)]


def _load_group(cx: Lowering, group: LaneGroup, access: Access) -> list[Value]:
    b = cx.b
    base = pointer(cx, group.address, access)
    if len(set(group.offsets)) == 1:
        return [b.splat(v) for v in load_one(cx, base, access)]
    elements = span(group, access) // access.size
    if any(o % access.size for o in group.offsets) or elements > MAX_CHUNK:
        return _gather_group(cx, group, access, base)
    chunk = b.load(f"<{elements} x {access.type}>", base, align=access.size)
    return [b.shuffle(chunk, _indices(group, access, j)) for j in range(access.count)]


def _indices(group: LaneGroup, access: Access, j: int) -> list[int]:
    where = dict(zip(group.lanes, group.offsets, strict=True))
    return [where[i] // access.size + j if i in where else -1 for i in range(LANES)]


def _gather_group(cx: Lowering, group: LaneGroup, access: Access, base: Value) -> list[Value]:
    where = dict(zip(group.lanes, group.offsets, strict=True))
    members = vector_constant("i1", [i in where for i in range(LANES)])
    columns = []
    for j in range(access.count):
        pointers = _spread(cx, base, [where.get(i, 0) + access.size * j for i in range(LANES)])
        columns.append(gather(cx, pointers, members, access))
    return columns


def _spread(cx: Lowering, base: Value, offsets: list[int]) -> Value:
    """32 pointers at known distances from one."""
    text = f"getelementptr i8, ptr {base.name}, {vector_constant('i64', offsets)!r}"
    return cx.b.define(f"<{LANES} x ptr>", text)


def gather(cx: Lowering, pointers: Value, mask: Value, access: Access) -> Value:
    """Loads one element per lane from 32 pointers; lanes off give poison."""
    type_ = f"<{LANES} x {access.type}>"
    name = f"llvm.masked.gather.v{LANES}i{8 * access.size}.v{LANES}p0"
    return cx.b.call(type_, name, pointers, constant("i32", access.size), mask, Value("poison", type_))


# -- stores -----------------------------------------------------------------------------------------------------------
def store_groups(cx: Lowering, groups: list[LaneGroup], access: Access, values: list[Value]) -> None:
    """Writes one vector per element under the mask; of lanes with one address the last wins."""
    for group in groups:
        base = pointer(cx, group.address, access)
        step = access.bytes
        if all(o == n * step for n, o in enumerate(group.offsets)) and len(group.lanes) > 1:
            _store_run(cx, group, access, values, base)
        else:
            _scatter_group(cx, group, access, values, base)


def store_one(cx: Lowering, group: LaneGroup, access: Access, values: list[Value]) -> None:
    """All lanes write one address: the highest active lane's value stays."""
    b = cx.b
    base = pointer(cx, group.address, access)
    if values[0].wide:
        zeros = b.call("i32", "llvm.ctlz.i32", cx.active(), constant("i1", True))
        lane = b.op("sub", constant("i32", LANES - 1), zeros)
        values = [b.extract(v, lane) for v in values]
    for j, value in enumerate(values):
        b.store(value, b.offset(base, access.size * j), align=access.size)


def _store_run(cx: Lowering, group: LaneGroup, access: Access, values: list[Value], base: Value) -> None:
    b, n = cx.b, len(group.lanes)
    run = interleave(cx, values, group.lanes)
    if cx.always():
        b.store(run, base, align=access.size)
        return
    bits = cx.active_bits()
    mask = b.shuffle(bits, [i for i in group.lanes for _ in range(access.count)])
    name = f"llvm.masked.store.v{n * access.count}i{8 * access.size}.p0"
    b.call("void", name, run, base, constant("i32", access.size), mask)


def interleave(cx: Lowering, values: list[Value], members: tuple[int, ...]) -> Value:
    """a0 b0 c0 d0 a1 b1 …: the elements of the given lanes in the order they have in memory."""
    b = cx.b
    if len(values) == 1:
        return values[0] if members == tuple(range(LANES)) else b.shuffle(values[0], list(members))
    if len(values) == 2:
        return b.shuffle(values[0], [i + LANES * j for i in members for j in range(2)], values[1])
    half = len(values) // 2
    left, right = (_concatenate(cx, part) for part in (values[:half], values[half:]))
    return b.shuffle(left, [i + LANES * j for i in members for j in range(len(values))], right)


def _concatenate(cx: Lowering, values: list[Value]) -> Value:
    while len(values) > 1:
        pairs = [(values[i], values[i + 1]) for i in range(0, len(values), 2)]
        values = [cx.b.shuffle(x, list(range(2 * _size(x))), y) for x, y in pairs]
    return values[0]


def _size(value: Value) -> int:
    return int(value.type[1 : value.type.index(" ")])


def _scatter_group(cx: Lowering, group: LaneGroup, access: Access, values: list[Value], base: Value) -> None:
    b = cx.b
    where = dict(zip(group.lanes, group.offsets, strict=True))
    mask = vector_constant("i1", [i in where for i in range(LANES)])
    if not cx.always():
        mask = b.op("and", mask, cx.active_bits())
    for j, value in enumerate(values):
        pointers = _spread(cx, base, [where.get(i, 0) + access.size * j for i in range(LANES)])
        scatter(cx, pointers, mask, access, value)


def scatter(cx: Lowering, pointers: Value, mask: Value, access: Access, value: Value) -> None:
    """Stores one element per lane, lowest lane first (LLVM fixes that order)."""
    name = f"llvm.masked.scatter.v{LANES}i{8 * access.size}.v{LANES}p0"
    cx.b.call("void", name, value, pointers, constant("i32", access.size), mask)
