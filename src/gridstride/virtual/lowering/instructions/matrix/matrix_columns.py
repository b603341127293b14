"""The operands of one tile inside the function that multiplies it: from registers to columns and back.

The function gets pointers to the registers of A, B, C and D, 32 lanes each. A becomes vectors over the rows, one for
each k; B lies in memory so that a column's elements are scalars at known distances; C and D lie there by column. One
pass of a loop then makes one column of D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir import half
from gridstride.virtual.ir.builder import Builder, Value, bits, constant, wide
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Tile

COLUMNS = 8
Unpack = Callable[[Value, int], Value]
"""Makes elements out of registers: (registers, which element of each)."""


class Columns:
    """One tile's operands. `raw` is the LLVM type of a register of A and B, `sum_type` of an element while summed."""

    def __init__(self, b: Builder, tile: Tile, pointers: list[Value], *, raw: str, sum_type: str) -> None:
        self.b, self.tile, self.raw, self.sum_type = b, tile, raw, sum_type
        self.a, self._b, self._c, self._d = pointers
        self._column: Value | None = None
        self._sums = {name: b.alloca(f"[{COLUMNS} x {self.column_type}]", align=64) for name in ("c", "d")}

    @property
    def column_type(self) -> str:
        return f"<{self.tile.rows} x {self.sum_type}>"

    def _register(self, base: Value, index: int, type_: str) -> Value:
        size = LANES * bits(type_) // 8
        return self.b.load(wide(type_), self.b.offset(base, size * index), align=64)

    def _rows(self, registers: list[Value], t: int) -> Value:
        """Lanes 4g + t of one register for each eight rows."""
        picks = [LANES * half_ + 4 * g + t for half_ in range(self.tile.halves) for g in range(8)]
        return self.b.shuffle(registers[0], picks, registers[1] if len(registers) > 1 else None)

    # -- A and B ------------------------------------------------------------------------------------------------------
    def rows(self, unpack: Unpack) -> list[Value]:
        """A's columns, a vector over the rows for each k."""
        tile, words = self.tile, {}
        for block in range(tile.blocks):
            pair = [self._register(self.a, tile.halves * block + h, self.raw) for h in range(tile.halves)]
            words.update({(block, t): self._rows(pair, t) for t in range(4)})
        columns = [tile.position(k) for k in range(tile.k)]
        return [unpack(words[block, t], item) for block, t, item in columns]

    def spread(self, unpack: Unpack) -> list[Value]:
        """B's elements as vectors over the lanes, in the order that `area` stores them."""
        registers = [self._register(self._b, block, self.raw) for block in range(self.tile.blocks)]
        return [unpack(r, item) for r in registers for item in range(self.tile.packed)]

    def area(self, planes: list[Value]) -> Value:
        """Stores what `spread` gave."""
        b, size = self.b, LANES * bits(planes[0].type) // 8
        base = b.alloca(f"[{size * len(planes)} x i8]", align=64)
        for i, plane in enumerate(planes):
            b.store(plane, b.offset(base, size * i), align=64)
        return base

    def column(self, area: Value, k: int, type_: str) -> Value:
        """B's element (k, current column), splatted over the rows."""
        return self._splat(area, self.tile, k, type_)

    def _splat(self, area: Value, tile: Tile, k: int, type_: str) -> Value:
        b, size = self.b, bits(type_) // 8
        block, t, item = tile.position(k)
        base = b.offset(area, b.op("mul", self._current(), constant("i64", 4 * size)))
        index = (block * tile.packed + item) * LANES + t
        return b.splat(b.load(type_, b.offset(base, size * index), align=size), self.tile.rows)

    # -- C and D ------------------------------------------------------------------------------------------------------
    def take(self, ptx_type: str) -> None:
        """Puts C in memory by column, halves as f32."""
        b, store = self.b, self.tile.rows * bits(self.sum_type) // 8
        packed = ptx_type == "f16"
        raw = "i32" if packed else self.sum_type
        count = self.tile.halves if packed else 2 * self.tile.halves
        registers = [self._register(self._c, i, raw) for i in range(count)]
        for n in range(COLUMNS):
            t, odd = divmod(n, 2)
            if packed:
                words = self._rows(registers, t)
                word = b.op("lshr", words, constant(words.type, 16)) if odd else words
                column = half.widen(b, b.resize(word, "i16"), half.F16)
            else:
                column = self._rows(registers[odd::2], t)
            b.store(column, b.offset(self._sums["c"], store * n), align=min(store, 64))

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Runs its body for each column."""
        b, at = self.b, self.b.alloca("i64")
        b.store(constant("i64", 0), at)
        with b.loop() as done:
            self._column = b.load("i64", at)
            b.break_if(b.compare("eq", self._column, constant("i64", COLUMNS)), done)
            yield
            b.store(b.op("add", self._column, constant("i64", 1)), at)
        self._column = None

    def _current(self) -> Value:
        assert self._column is not None
        return self._column

    def _sum(self, name: str) -> tuple[Value, int]:
        size = self.tile.rows * bits(self.sum_type) // 8
        return self.b.offset(self._sums[name], self.b.op("mul", self._current(), constant("i64", size))), size

    def addend(self) -> Value:
        """C's current column."""
        area, size = self._sum("c")
        return self.b.load(self.column_type, area, align=min(size, 64))

    def put(self, column: Value) -> None:
        """D's current column."""
        area, size = self._sum("d")
        self.b.store(column, area, align=min(size, 64))

    def give(self, ptx_type: str) -> None:
        """Writes D's registers, halves packed."""
        b, size = self.b, self.tile.rows * bits(self.sum_type) // 8
        pointers = [b.offset(self._sums["d"], size * n) for n in range(COLUMNS)]
        columns = [b.load(self.column_type, pointer, align=min(size, 64)) for pointer in pointers]
        if ptx_type == "f16":
            columns = [self._pack(columns[n], columns[n + 1]) for n in range(0, COLUMNS, 2)]
            parts = [columns]
        else:
            parts = [columns[0::2], columns[1::2]]
        for h in range(self.tile.halves):
            for odd, part in enumerate(parts):
                self._store(len(parts) * h + odd, self._lanes(part, h))

    def _store(self, index: int, register: Value) -> None:
        size = LANES * bits(register.type) // 8
        self.b.store(register, self.b.offset(self._d, size * index), align=64)

    def _pack(self, low: Value, high: Value) -> Value:
        b = self.b
        words = [b.resize(half.narrow(b, x, half.F16), "i32") for x in (low, high)]
        return b.op("or", words[0], b.op("shl", words[1], constant(words[1].type, 16)))

    def _lanes(self, columns: list[Value], half_: int) -> Value:
        """Four columns, for t = 0 … 3, as a register: lane 4g + t has row g of the half."""
        b, rows = self.b, self.tile.rows
        pairs = [b.shuffle(columns[i], list(range(2 * rows)), columns[i + 1]) for i in (0, 2)]
        return b.shuffle(pairs[0], [t * rows + 8 * half_ + g for g in range(8) for t in range(4)], pairs[1])
