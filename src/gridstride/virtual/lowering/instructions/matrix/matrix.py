"""mma.sync and wmma.mma: the warp multiplies matrices that lie in its registers.

A shape consists of tiles 8 or 16 × 8 × k. Each kind of tile has a function of its own, written into the kernel's module
on first use; the registers reach it through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, bits, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.matrix import matrix_memory, matrix_plain, matrix_sums, matrix_volta
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Fragment
from gridstride.virtual.lowering.instructions.matrix.matrix_memory import fragment_of, shape_of
from gridstride.virtual.lowering.instructions.matrix.matrix_products import Product
from gridstride.virtual.lowering.instructions.matrix.matrix_sparse import SparseProduct
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand
from gridstride.virtual.ptx.operands import items

RULES = ("satfinite", "xor", "and", "rz", "rm", "rp")
"""Modifiers that change what is computed: the range of integer sums, how bits are joined, how f64 is rounded."""

REGISTERS = 8
"""The most that a tile's operand has."""


# -- mma --------------------------------------------------------------------------------------------------------------
def mma(cx: Lowering, ins: Instruction) -> None:
    """mma.sync.aligned."""
    if "sp" in ins.modifiers or "sp::ordered_metadata" in ins.modifiers:
        _sparse(cx, ins)
        return
    m, n, k = shape_of(ins)
    d, a, b, c = ins.types
    if (m, n, k) == (8, 8, 4) and a == "f16":
        matrix_volta.multiply(cx, ins)
        return
    product = Product(m, k, a, b, c, d, _rule(ins))
    matrices = [list(items(o)) for o in ins.operands]
    first, second, addend = (_registers(cx, x, product.tile.bits) for x in matrices[1:])
    _write(cx, matrices[0], _tile(cx, product, first, second, addend))


def _sparse(cx: Lowering, ins: Instruction) -> None:
    """mma.sp: k of the product is that of the stored half of A."""
    m, _, k = shape_of(ins)
    d, a, b, c = ins.types
    product, selector = SparseProduct(m, k // 2, a, b, c, d, _rule(ins)), ins.operands[5]
    assert isinstance(selector, Immediate)
    product = replace(product, first=selector.bits * product.holders)
    matrices = [list(items(o)) for o in ins.operands[:4]]
    first, second, addend = (_registers(cx, x, 32) for x in matrices[1:])
    _write(cx, matrices[0], _tile(cx, product, first, second, addend, _registers(cx, [ins.operands[4]], 32)))


def _rule(ins: Instruction) -> str:
    return next((m for m in ins.modifiers if m in RULES), "")


# -- wmma -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WmmaShape:
    """A wmma multiplication: its operands' fragments and the tiles it consists of."""

    a: Fragment
    b: Fragment
    c: Fragment
    d: Fragment
    product: Product
    tiles: int


def wmma(cx: Lowering, ins: Instruction) -> None:
    """wmma.load, wmma.store, wmma.mma."""
    memory = {"load": matrix_memory.load, "store": matrix_memory.store}.get(next(iter(ins.modifiers), ""))
    if memory is not None:
        memory(cx, ins)
        return
    shape = _shape(ins)
    matrices = [list(items(o)) for o in ins.operands]
    width = shape.a.bits
    first, second = (_registers(cx, x[: f.own], width) for x, f in zip(matrices[1:3], (shape.a, shape.b), strict=True))
    addend = _registers(cx, matrices[3], width)
    if shape.a.swapped:
        first, second = second, first
    tall = max(shape.a.m, shape.a.n) == 2 * shape.product.rows
    results: list[Value] = []
    for number in range(shape.tiles):
        a = _part(first, number, shape.tiles) if tall else first
        b = second if tall else _part(second, number, shape.tiles)
        results += _tile(cx, shape.product, a, b, _part(addend, number, shape.tiles))
    _write(cx, matrices[0], results)


def _part(values: list[Value], number: int, parts: int) -> list[Value]:
    size = len(values) // parts
    return values[number * size : (number + 1) * size]


def _shape(ins: Instruction) -> WmmaShape:
    m, n, k = shape_of(ins)
    d, a, b, c = (ins.types[0], "f16", "f16", ins.types[1]) if len(ins.types) == 2 else ins.types
    parts = {matrix: fragment_of(matrix, t, (m, n, k)) for matrix, t in zip("abcd", (a, b, c, d), strict=True)}
    rows = 8 if m == n == 8 else 16
    first, second = (b, a) if parts["a"].swapped else (a, b)
    product = Product(rows, k, first, second, c, d, _rule(ins), 4 if a == "tf32" else 0)
    return WmmaShape(product=product, tiles=m * n // (8 * rows), **parts)


# -- tiles ------------------------------------------------------------------------------------------------------------
def _registers(cx: Lowering, operands: list[Operand], width: int) -> list[Value]:
    return [cx.vector(o, "f64" if width == 64 else "b32") for o in operands]


def _write(cx: Lowering, targets: list[Operand], values: list[Value]) -> None:
    for target, value in zip(targets, values, strict=True):
        cx.set(target, value)


def _tile(
    cx: Lowering, product: Product, a: list[Value], b: list[Value], c: list[Value], e: Sequence[Value] = ()
) -> list[Value]:
    """D's registers; `e` holds the metadata of a sparse A."""
    module = cx.program.ir
    if product.name not in module.defined:
        sums = matrix_sums if product.formats[0].floating else matrix_plain
        sums.define(module, product)
    size = LANES * bits(a[0].type) // 8
    areas = [_area(cx, name) for name in ("mma a", "mma b", "mma c", "mma d")]
    if e:
        areas.append(_area(cx, "mma e"))
    for area, values in zip([*areas[:3], *areas[4:]], (a, b, c, e), strict=False):
        for i, value in enumerate(values):
            cx.b.store(value, cx.b.offset(area, size * i), align=64)
    cx.b.call("void", product.name, *areas)
    type_ = wide("double" if size == 8 * LANES else "i32")
    return [cx.b.load(type_, cx.b.offset(areas[3], size * i), align=64) for i in range(_sums(product))]


def _sums(product: Product) -> int:
    return product.tile.registers[2] // (2 if product.d == "f16" else 1)


def _area(cx: Lowering, name: str) -> Value:
    """A place for a tile's registers, which all tiles of the function share."""
    areas = cx.program.scratch_of(cx).areas
    if name not in areas:
        areas[name] = cx.b.alloca(f"[{8 * LANES * REGISTERS} x i8]", align=64)
    return areas[name]
