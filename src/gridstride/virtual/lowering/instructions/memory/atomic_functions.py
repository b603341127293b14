"""The functions behind atom and red: `gs_atom_SPACE_OP_TYPE(warp, site, mask, address, a[, b])` gives the old values.

Addresses and values are vectors, addresses i32 in shared and i64 in global memory; `gs_red_…` gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, GLOBAL, SHARED
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.atomic_operations import NATIVE, AtomicOperation, combine
from gridstride.virtual.ir.builder import Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.memory.address_checks import _base, _inside


def signature_name(space: str, what: AtomicOperation, returns: bool) -> str:
    """The function's name."""
    return f"gs_{'atom' if returns else 'red'}_{space}_{what.op}_{what.type}"


def define(m: IrModule, space: str, what: AtomicOperation, *, returns: bool) -> None:
    """Writes the function into a module, internal to it."""
    name = signature_name(space, what, returns)
    address_type = "i64" if space in ("global", "generic") else "i32"
    head = ["warp* warp", "i32 site", "i32 mask", f"{wide(address_type)} address", f"{what.vector} x"]
    head += [f"{what.vector} y"] if what.op == "cas" else []
    result = what.vector if returns else "void"
    with m.function(f"internal {result}", name, *head) as (b, args):
        _Writer(b, space, what, returns, args).write()


class _Writer:
    """One function's body."""

    def __init__(self, b: Builder, space: str, what: AtomicOperation, returns: bool, args: list[Any]) -> None:
        self.b, self.what, self.returns = b, what, returns
        self.number = {"shared": SHARED, "cluster": CLUSTER_SPACE}.get(space, GLOBAL)
        self.space = "global" if space in ("global", "generic") else "shared"
        self.in_shared = Value("false", "i1") if space == "generic" else None
        """Of a generic address: whether the place at hand is shared memory."""
        self.warp: Record = args[0]
        self.site, self.mask, self.address = args[1:4]
        self.values = args[4:]
        self.back = self._in_reverse()

    def _in_reverse(self) -> Value:
        """An i1: the launch has lanes take turns in reverse (LAUNCH.lanes_back)."""
        return self.warp.launch.lanes_back != 0

    def _reversed(self, x: Value) -> Value:
        """The lanes of a vector as they take turns, or back from there."""
        return self.b.select(self.back, self.b.shuffle(x, range(LANES - 1, -1, -1)), x)

    @contextmanager
    def _lanes(self) -> Iterator[Value]:
        """The active lanes as they take turns."""
        b = self.b
        mask = b.select(self.back, b.intrinsic("bitreverse", self.mask), self.mask)
        flip = b.select(self.back, constant("i32", LANES - 1), constant("i32", 0))
        with b.lanes(mask) as turn:
            yield b.op("xor", turn, flip)

    def write(self) -> None:
        where = self._pointers()
        if self.what.neutral is not None:
            with self._one_address():
                self._grouped(where, self.what.neutral)
            self.b.terminated = False
        elif not self.returns:
            with self._one_address():
                self._in_order(where)
            self.b.terminated = False
        self._lane_by_lane(where)

    # -- addresses ----------------------------------------------------------------------------------------------------
    def _pointers(self) -> Value:
        """A slot with the 32 places in this process as i64, all checked: together where they fit, else one by one."""
        b = self.b
        slot = b.alloca(wide("i64"), align=64)
        slow, fast, done = b.new_label("slow"), b.new_label("fast"), b.new_label("placed")
        inside = _inside(b, self.warp, self.site, self.mask, self.address, self.what.size, self.space)
        b.branch(inside, fast, slow, likely=True)
        b.start(fast)
        long = b.resize(self.address, "i64")
        b.store(b.op("add", long, b.splat(_base(b, self.warp, self.space))), slot)
        b.jump(done)
        b.start(slow)
        self._resolve(slot)
        b.jump(done)
        b.start(done)
        return slot

    def _resolve(self, slot: Value) -> None:
        b = self.b
        addresses = b.alloca(wide("i64"), align=64)
        b.store(b.resize(self.address, "i64"), addresses)
        space, size = constant("i32", self.number), constant("i32", self.what.size)
        with b.lanes(self.mask) as lane:
            address_slot = self._row(addresses, lane, 8)
            pointer = b.call("ptr", "gs_resolve", self.warp, self.site, lane, b.load("i64", address_slot), size, space)
            b.store(b.define("i64", f"ptrtoint ptr {pointer.name} to i64"), self._row(slot, lane, 8))

    def _row(self, slot: Value, lane: Value, size: int) -> Value:
        b = self.b
        return b.offset(slot, b.op("mul", b.resize(lane, "i64"), constant("i64", size)))

    def _pointer(self, where: Value, lane: Value) -> Value:
        return self.b.pointer(self.b.load("i64", self._row(where, lane, 8)))

    def _first(self) -> Value:
        first = self.b.call("i32", "llvm.cttz.i32", self.mask, constant("i1", False))
        return self.b.op("and", first, constant("i32", LANES - 1))

    def _one_address(self) -> AbstractContextManager[None]:
        """A block that runs where all lanes of the mask, and there are some, name one address."""
        b = self.b
        equal = b.bitcast(b.compare("eq", self.address, b.splat(b.extract(self.address, self._first()))), "i32")
        missing = b.op("and", self.mask, b.op("xor", equal, constant("i32", -1)))
        some = b.compare("ne", self.mask, constant("i32", 0))
        return b.if_(b.op("and", some, b.compare("eq", missing, constant("i32", 0))))

    # -- the three ways -----------------------------------------------------------------------------------------------
    def _grouped(self, where: Value, neutral: int) -> None:
        """One access with the whole warp's operand; each lane's old value is what the lanes before it made of it."""
        b, x = self.b, self.values[0]
        x = b.select(b.bitcast(self.mask, wide("i1")), x, constant(x.type, neutral))
        pointer = self._pointer(where, self._first())
        if not self.returns:
            self._access(pointer, b.intrinsic(f"vector.reduce.{self.what.op}", x, result=self.what.scalar))
            b.ret()
            return
        x = self._reversed(x)
        for step in (1, 2, 4, 8, 16):
            x = self._combine(x, self._shifted(x, step, neutral))
        old = self._access(pointer, b.extract(x, LANES - 1))
        b.ret(self._reversed(self._combine(b.splat(old), self._shifted(x, 1, neutral))))

    def _shifted(self, x: Value, step: int, neutral: int) -> Value:
        """Lane i gets lane i - step, the first ones the neutral value."""
        return self.b.shuffle(x, [i - step if i >= step else LANES for i in range(LANES)], constant(x.type, neutral))

    def _in_order(self, where: Value) -> None:
        """All lanes' operands applied to one place in their turns, in one access."""
        b = self.b
        rows = self._rows()
        total = b.alloca(self.what.scalar)

        def apply(old: Value) -> Value:
            b.store(old, total)
            with self._lanes() as lane:
                x = b.load(self.what.scalar, self._row(rows[0], lane, self.what.size))
                b.store(self._combine(b.load(self.what.scalar, total), x), total)
            return b.load(self.what.scalar, total)

        self._update(self._pointer(where, self._first()), apply)
        b.ret()

    def _lane_by_lane(self, where: Value) -> None:
        b, size = self.b, self.what.size
        rows = self._rows()
        result = b.alloca(self.what.vector, align=64) if self.returns else None
        if result is not None:
            b.store(constant(self.what.vector, 0), result)
        with self._lanes() as lane:
            values = [b.load(self.what.scalar, self._row(r, lane, size)) for r in rows]
            old = self._access(self._pointer(where, lane), *values)
            if result is not None:
                b.store(old, self._row(result, lane, size))
        b.ret(b.load(self.what.vector, result) if result is not None else None)

    def _rows(self) -> list[Value]:
        slots = [self.b.alloca(self.what.vector, align=64) for _ in self.values]
        for value, slot in zip(self.values, slots, strict=True):
            self.b.store(value, slot)
        return slots

    # -- one access ---------------------------------------------------------------------------------------------------
    def _access(self, pointer: Value, x: Value, y: Value | None = None) -> Value:
        """The operation on one place; gives the old value."""
        b = self.b
        if y is not None:
            return self._swap(pointer, x, y)
        if self.space == "shared" or self.what.floating:
            return self._update(pointer, lambda old: self._combine(old, x))
        return b.define(
            x.type, f"atomicrmw {NATIVE[self.what.op]} ptr {pointer.name}, {x!r} seq_cst, align {self.what.size}"
        )

    def _swap(self, pointer: Value, expected: Value, new: Value) -> Value:
        b = self.b
        if self.space == "shared":
            old = b.load(new.type, pointer, align=self.what.size)
            b.store(b.select(b.compare("eq", old, expected), new, old), pointer, align=self.what.size)
            return old
        return self._compare_exchange(pointer, expected, new)[0]

    def _compare_exchange(self, pointer: Value, expected: Value, new: Value) -> tuple[Value, Value]:
        b, type_ = self.b, new.type
        text = f"cmpxchg ptr {pointer.name}, {expected!r}, {new!r} seq_cst seq_cst, align {self.what.size}"
        pair = b.define(f"{{ {type_}, i1 }}", text)
        took = b.define("i1", f"extractvalue {pair!r}, 1")
        return b.define(type_, f"extractvalue {pair!r}, 0"), took

    def _update(self, pointer: Value, change: Callable[[Value], Value]) -> Value:
        """place = change(place), in global memory until no other thread came between; gives the old value."""
        b, type_, size = self.b, self.what.scalar, self.what.size
        if self.in_shared is not None:
            self.in_shared = b.call("i1", "gs_in_shared", self.warp, pointer)
        if self.space == "shared":
            old = b.load(type_, pointer, align=size)
            b.store(change(old), pointer, align=size)
            return old
        integer = f"i{8 * size}"
        observed = b.alloca(integer)
        b.store(b.define(integer, f"load atomic {integer}, ptr {pointer.name} monotonic, align {size}"), observed)
        with b.loop() as done:
            word = b.load(integer, observed)
            new = b.bitcast(change(b.bitcast(word, type_)), integer)
            now, took = self._compare_exchange(pointer, word, new)
            b.store(now, observed)
            b.break_if(took, done)
        return b.bitcast(b.load(integer, observed), type_)

    def _combine(self, old: Value, x: Value) -> Value:
        result = combine(self.b, self.what, self.space, old, x)
        if self.in_shared is None:
            return result
        return self.b.select(self.in_shared, combine(self.b, self.what, "shared", old, x), result)
