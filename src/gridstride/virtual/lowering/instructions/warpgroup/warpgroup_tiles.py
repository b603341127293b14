"""The functions that multiply one warp's rows by N columns: `NAME(a, b, sums, meta, tiles)`.

A is the four registers of a fragment, B an image of its columns (matrix_descriptors.py), `sums` the registers of C,
which become those of D; `meta` the metadata of a sparse A. The work on A is done once for all tiles.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, IrModule, Value, constant
from gridstride.virtual.lowering.instructions.matrix.matrix_formats import element, exponents
from gridstride.virtual.lowering.instructions.matrix.matrix_sums import _Writer
from gridstride.virtual.lowering.instructions.warpgroup.warpgroup_products import WideColumns, WideProduct
from gridstride.virtual.runtime.common import i64
from gridstride.virtual.runtime.copies.matrix_descriptors import PIECE, counted

HEAD = ("ptr a", "ptr b", "ptr sums", "ptr meta")


def define(m: IrModule, product: WideProduct) -> None:
    """Writes the functions of a product into a module."""
    if product.formats[0].floating:
        with m.function("internal void", f"{product.name}_careful", *HEAD, cold=True) as (b, pointers):
            writer = _Floats(b, product, pointers, careful=True)
            writer.tile(*pointers[1:3])
    with m.function("internal void", product.name, *HEAD, "i32 tiles") as (b, (left, right, sums, meta, tiles)):
        pointers = [left, right, sums, meta]
        if product.formats[0].floating:
            tile = _Floats(b, product, pointers, careful=False).tile
        else:
            tile = _Integers(b, product, pointers).tile
        with counted(b, tiles) as index:
            number = b.resize(index, "i64")
            own = [b.offset(p, b.op("mul", number, i64(step)))
                   for p, step in ((right, PIECE * product.chunks), (sums, product.sum_bytes))]  # fmt: skip
            tile(*own)


class _Floats(_Writer):
    """Aligned sums of a whole step, as in matrix_sums."""

    def __init__(self, b: Builder, product: WideProduct, pointers: list[Value], *, careful: bool) -> None:
        self.b, self.product, self.careful, self.pointers = b, product, careful, pointers
        self.columns: WideColumns = WideColumns(b, product, pointers[0], pointers[3], sum_type="float")
        self.a = self.columns.rows(lambda words, item: element(b, words, product.formats[0], item))
        self.exponents = [exponents(b, x, product.formats[0].lowest) for x in self.a]
        self.wrong = b.alloca("i16")

    def tile(self, right: Value, sums: Value) -> None:
        """Eight columns."""
        b, columns, second = self.b, self.columns, self.product.formats[1]
        columns.move(right, sums)
        spread = columns.spread(lambda words, item: element(b, words, second, item))
        self.b_area = columns.area(spread)
        self.b_exponents = columns.area([exponents(b, x, second.lowest) for x in spread])
        b.store(constant("i16", 0), self.wrong)
        columns.take(self.product.c)
        with columns.loop():
            columns.put(self._step(list(range(self.product.k)), columns.addend()))
        fine = b.compare("eq", b.load("i16", self.wrong), constant("i16", 0))
        if not self.careful:
            with b.if_(b.op("xor", fine, constant("i1", True))):
                b.call("void", f"{self.product.name}_careful", self.pointers[0], right, sums, self.pointers[3])
        with b.if_(fine, likely=True):
            columns.give(self.product.d)


class _Integers:
    """Integers, multiplied in f32, which holds every sum of a step, and bits, whose common ones are counted."""

    def __init__(self, b: Builder, product: WideProduct, pointers: list[Value]) -> None:
        self.b, self.product = b, product
        self.columns = WideColumns(b, product, pointers[0], pointers[3], sum_type="i32")
        self.a = self.columns.rows(lambda words, item: self._element(words, 0, item))

    def _element(self, words: Value, side: int, item: int) -> Value:
        return words if self.product.a == "b1" else element(self.b, words, self.product.formats[side], item)

    def tile(self, right: Value, sums: Value) -> None:
        """Eight columns."""
        b, columns = self.b, self.columns
        columns.move(right, sums)
        area = columns.area(columns.spread(lambda words, item: self._element(words, 1, item)))
        columns.take("s32")
        with columns.loop():
            total, addend = self._sum(area), columns.addend()
            saturated = self.product.rule == "satfinite"
            columns.put(b.intrinsic("sadd.sat", addend, total) if saturated else b.op("add", addend, total))
        columns.give("s32")

    def _sum(self, area: Value) -> Value:
        b, ones = self.b, self.product.a == "b1"
        total: Value | None = None
        for k, x in enumerate(self.a):
            y = self.columns.column(area, k, "i32" if ones else "float")
            term = b.intrinsic("ctpop", b.op("and", x, y)) if ones else b.op("fmul", x, y)
            total = term if total is None else b.op("add" if ones else "fadd", total, term)
        assert total is not None
        return total if ones else b.cast("fptosi", total, "i32")
