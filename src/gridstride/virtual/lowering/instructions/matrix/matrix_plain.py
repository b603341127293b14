"""Matrix products whose sums need no rule of their own: integers and bits are exact, f64 is a chain of FMAs over k,
rounded as the instruction says.

Integers are multiplied in f32, which holds every sum of a tile: 64 products of 4 bits or 32 of 8 are below 2^22.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, IrModule, Value
from gridstride.virtual.lowering.instructions.arithmetic import rounding
from gridstride.virtual.lowering.instructions.matrix.matrix_columns import Columns
from gridstride.virtual.lowering.instructions.matrix.matrix_formats import element
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Tile
from gridstride.virtual.lowering.instructions.matrix.matrix_products import Product
from gridstride.virtual.lowering.instructions.matrix.matrix_sparse import columns_of, heads


def define(m: IrModule, product: Product) -> None:
    """Writes `NAME(a, b, c, d)` into a module."""
    if product.rule in rounding.MODES and fma_name(product) not in m.defined:
        rounding._define(m, fma_name(product), "fma", rounding.MODES[product.rule], f"<{product.rows} x double>", 3)
    with m.function("internal void", product.name, *heads(product)) as (b, pointers):
        {"f64": _double, "b1": _bits}.get(product.a, _integers)(b, product, pointers)


def fma_name(product: Product) -> str:
    """The function that rounds a chain's steps as the product's rule says."""
    return f"gs_mma_fma_{product.rows}_{product.rule}"


def _integers(b: Builder, product: Product, pointers: list[Value]) -> None:
    columns = columns_of(b, product, pointers, raw="i32", sum_type="i32")
    first, second = product.formats
    a = columns.rows(lambda words, item: element(b, words, first, item))
    area = columns.area(columns.spread(lambda words, item: element(b, words, second, item)))
    columns.take("s32")
    with columns.loop():
        total: Value | None = None
        for k, x in enumerate(a):
            term = b.op("fmul", x, columns.column(area, k, "float"))
            total = term if total is None else b.op("fadd", total, term)
        assert total is not None
        integer = b.cast("fptosi", total, "i32")
        addend = columns.addend()
        saturated = product.rule == "satfinite"
        columns.put(b.intrinsic("sadd.sat", addend, integer) if saturated else b.op("add", addend, integer))
    columns.give("s32")


def _bits(b: Builder, product: Product, pointers: list[Value]) -> None:
    words = Tile(product.rows, product.k // 32, 32)
    columns = Columns(b, words, pointers, raw="i32", sum_type="i32")
    a = columns.rows(lambda word, item: word)
    area = columns.area(columns.spread(lambda word, item: word))
    columns.take("s32")
    with columns.loop():
        total = columns.addend()
        for k, x in enumerate(a):
            combined = b.op(product.rule, x, columns.column(area, k, "i32"))
            total = b.op("add", total, b.intrinsic("ctpop", combined))
        columns.put(total)
    columns.give("s32")


def _double(b: Builder, product: Product, pointers: list[Value]) -> None:
    columns = Columns(b, product.tile, pointers, raw="double", sum_type="double")
    a = columns.rows(lambda values, item: values)
    area = columns.area(columns.spread(lambda values, item: values))
    columns.take("f64")
    with columns.loop():
        total = columns.addend()
        for k, x in enumerate(a):
            y = columns.column(area, k, "double")
            directed = product.rule in rounding.MODES
            total = b.call(x.type, fma_name(product), x, y, total) if directed else b.intrinsic("fma", x, y, total)
        columns.put(total)
    columns.give("f64")
