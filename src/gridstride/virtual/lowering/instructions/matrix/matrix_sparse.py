"""mma.sp: of every four elements in a row of A two are stored, and metadata says which.

A's registers are those of a dense tile with half of k, B's those of a dense tile with all of it. A unit of metadata has
two bits and says where in its group of four an element stands: one for each stored element of 16 or 8 bits, one for a
pair of 4-bit ones, and two for a tf32, which counts as two halves. A row's units lie in the 32-bit words of the lanes
4g + t with t from the selector on, as an H200 reads them: of 16 and 32 bits eight units to a lane, in the lower half of
its word for row g and in the upper for g + 8; of fewer bits sixteen to a lane, t even for row g and odd for g + 8.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, Value, constant, vector_constant
from gridstride.virtual.lowering.instructions.matrix.matrix_columns import Columns, Unpack
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Tile
from gridstride.virtual.lowering.instructions.matrix.matrix_products import Product


@dataclass(frozen=True, slots=True)
class SparseProduct(Product):
    """A product whose `k` is that of the stored half; `first`: the first lane of each four that holds metadata."""

    first: int = 0

    @property
    def name(self) -> str:
        dense = Product(self.rows, self.k, self.a, self.b, self.c, self.d, self.rule, self.split)
        return f"{dense.name}_sparse_{self.first}"

    @property
    def bits(self) -> int:
        return self.formats[0].bits

    @property
    def dense(self) -> Tile:
        """B's tile."""
        return Tile(self.rows, 2 * self.k, self.bits)

    @property
    def holders(self) -> int:
        """How many lanes of each four hold metadata: 16 units a word, all rows of it."""
        return 2 * self.units // LANES

    @property
    def units(self) -> int:
        """Units of metadata in a row, twice over for g and g + 8 that share lanes."""
        return {4: self.k // 2, 32: 2 * self.k}.get(self.bits, self.k) * 2

    def meets(self, j: int) -> tuple[int, tuple[int, ...], int]:
        """Of stored element j: its unit, the elements of k it may stand for, by how much the unit is shifted down."""
        if self.bits == 32:
            return 2 * j, (2 * j, 2 * j + 1), 1
        if self.bits == 4:
            return j // 2, tuple(j // 4 * 8 + 2 * i + j % 2 for i in range(4)), 0
        return j, tuple(j // 2 * 4 + i for i in range(4)), 0


class SparseColumns(Columns):
    """One tile's operands, where B's element for a stored one of A depends on the row."""

    def __init__(self, b: Builder, product: SparseProduct, pointers: list[Value], *, raw: str, sum_type: str) -> None:
        super().__init__(b, product.tile, pointers[:4], raw=raw, sum_type=sum_type)
        self.product, self.dense = product, product.dense
        word = self._register(pointers[4], 0, "i32")
        self._takes = [self._choice(word, j) for j in range(product.k)]

    def _choice(self, word: Value, j: int) -> list[Value]:
        """For each row and all but the first element that a stored one may stand for, whether it does."""
        b, p = self.b, self.product
        unit, positions, down = p.meets(j)
        if p.bits >= 16:
            lane, shifts = unit // 8, [2 * (unit % 8) + 16 * h for h in range(2) for _ in range(8)]
            picks = [4 * g + p.first + lane for _ in range(2) for g in range(8)]
        else:
            lane, shifts = 2 * (unit // 16), [2 * (unit % 16)] * 16
            picks = [4 * g + p.first + lane + h for h in range(2) for g in range(8)]
        rows = b.op("lshr", b.shuffle(word, picks), vector_constant("i32", shifts))
        index = b.op("and", b.op("lshr", rows, constant(rows.type, down)), constant(rows.type, 3 >> down))
        return [b.compare("eq", index, constant(index.type, i)) for i in range(1, len(positions))]

    def spread(self, unpack: Unpack) -> list[Value]:
        """All of B's elements, as `Columns.spread` gives those of a dense tile."""
        registers = [self._register(self._b, block, self.raw) for block in range(self.dense.blocks)]
        return [unpack(r, item) for r in registers for item in range(self.dense.packed)]

    def column(self, area: Value, k: int, type_: str) -> Value:
        """B's elements of the current column that row by row belong to stored element k."""
        first, *other_elements = (self._element(area, position, type_) for position in self.product.meets(k)[1])
        for takes, other in zip(self._takes[k], other_elements, strict=True):
            first = self.b.select(takes, other, first)
        return first

    def _element(self, area: Value, k: int, type_: str) -> Value:
        return self._splat(area, self.dense, k, type_)


def columns_of(b: Builder, product: Product, pointers: list[Value], *, raw: str, sum_type: str) -> Columns:
    """The operands of a tile's function."""
    if isinstance(product, SparseProduct):
        return SparseColumns(b, product, pointers, raw=raw, sum_type=sum_type)
    return Columns(b, product.tile, pointers, raw=raw, sum_type=sum_type)


def heads(product: Product) -> tuple[str, ...]:
    """The parameters of a tile's function."""
    return ("ptr a", "ptr b", "ptr c", "ptr d", *(("ptr e",) if isinstance(product, SparseProduct) else ()))
