"""What one warp's part of a wgmma is: 16 rows by N columns, in tiles of 8 columns that are summed like those of mma.

Seen on an H200: halves, bf16 and tf32 are summed as mma.sync sums them, all of k in one step. 8-bit floats keep their
own exponents, and 13 digits behind the point of the terms and of an f32 result. Of sparse A only what is stored counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.instructions.matrix.matrix_columns import Columns, Unpack
from gridstride.virtual.lowering.instructions.matrix.matrix_formats import FORMATS, ElementFormat
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Tile
from gridstride.virtual.lowering.instructions.matrix.matrix_products import DIGITS, Product

HEIGHT = 16
"""Rows that each warp of a warpgroup computes."""

K_BYTES = 32
"""Bytes of a row of A as it is stored, whatever its type."""

EIGHT_BIT_DIGITS = 13
_LOWEST = {"e4m3": -6, "e5m2": -14}


@dataclass(frozen=True, slots=True)
class WideProduct(Product):
    """D = A · B + C with `k` elements of A stored in a row. `selector`: which lanes bring the metadata of sparse A."""

    selector: int | None = None

    @property
    def name(self) -> str:
        words = (f"gs_wgmma_{self.k}", self.a, self.b, self.d, self.rule)
        tail = "" if self.selector is None else f"_sp{self.selector}"
        return "_".join(w for w in words if w) + tail

    @property
    def formats(self) -> tuple[ElementFormat, ElementFormat]:
        first, second = (replace(FORMATS[t], lowest=_LOWEST.get(t, FORMATS[t].lowest)) for t in (self.a, self.b))
        return first, second

    @property
    def digits(self) -> int:
        return EIGHT_BIT_DIGITS if self.a in _LOWEST else DIGITS

    @property
    def eight(self) -> bool:
        """Never as mma.sync, which makes halves of them."""
        return False

    @property
    def sparse(self) -> bool:
        return self.selector is not None

    @property
    def tile(self) -> Tile:
        bits = FORMATS[self.a].bits
        return Tile(HEIGHT, self.k // 32, 32) if bits == 1 else Tile(HEIGHT, self.k, bits)

    @property
    def chunks(self) -> int:
        """Pieces of 16 bytes that a column of B has."""
        return 4 if self.sparse else 2

    @property
    def sum_bytes(self) -> int:
        """Bytes of the registers of D that hold 8 columns."""
        return LANES * 4 * (2 if self.d == "f16" else 4)


class WideColumns(Columns):
    """The operands of tiles that lie side by side: A stays, `move` goes to another tile's B and sums."""

    def __init__(self, b: Builder, product: WideProduct, left: Value, meta: Value, *, sum_type: str) -> None:
        super().__init__(b, product.tile, [left] * 4, raw="i32", sum_type=sum_type)
        own = product.tile
        self.right = Tile(own.rows, own.k * (2 if product.sparse else 1), own.bits)
        self._chosen = _chosen(b, product, meta) if product.sparse else []

    def move(self, right: Value, sums: Value) -> None:
        """The tile whose B and whose registers of C, which D replaces, are at these places."""
        self._b, self._c, self._d = right, sums, sums

    def spread(self, unpack: Unpack) -> list[Value]:
        registers = [self._register(self._b, block, self.raw) for block in range(self.right.blocks)]
        return [unpack(r, item) for r in registers for item in range(self.right.packed)]

    def column(self, area: Value, k: int, type_: str) -> Value:
        """What meets A's stored element k: the same for all rows, or chosen by each row's metadata."""
        if not self._chosen:
            return self._element(area, k, type_)
        *pairs, last = self._chosen[k]
        count = 2 ** len(self._chosen[k])
        first = k // (count // 2) * count
        elements = [self._element(area, first + i, type_) for i in range(count)]
        for bit in (*pairs, last):
            elements = [self.b.select(bit, elements[i + 1], elements[i]) for i in range(0, len(elements), 2)]
        return elements[0]

    def _element(self, area: Value, k: int, type_: str) -> Value:
        """B's element (k, current column), splatted over the rows."""
        b, size = self.b, 8 if type_ in ("i64", "double") else 4
        block, t, item = self.right.position(k)
        base = b.offset(area, b.op("mul", self._current(), constant("i64", 4 * size)))
        index = (block * self.right.packed + item) * LANES + t
        return b.splat(b.load(type_, b.offset(base, size * index), align=size), self.right.rows)


def _chosen(b: Builder, product: WideProduct, meta: Value) -> list[tuple[Value, ...]]:
    """For each stored element, the bits of its position among the four (of tf32: two) that it was chosen from.

    A lane's metadata are 16 bits of rows g and g + 8, or for 8-bit elements 32 bits of one of the two.
    """
    words, chosen = b.load(wide("i32"), meta, align=64), []
    narrow, single = product.tile.bits == 8, product.a == "tf32"
    for k in range(product.k):
        group, item = (k, 1) if single else divmod(k, 2)
        lane = 2 * (group // 8) if narrow else 2 * (product.selector or 0) + group // 4
        rows = [(h, g) for h in range(2) for g in range(8)]
        own = b.shuffle(words, [4 * g + lane + (h if narrow else 0) for h, g in rows])
        shifts = [4 * (group % 8) if narrow else 4 * (group % 4) + 16 * h for h, _ in rows]
        code = b.op("lshr", own, vector_constant("i32", [s + 2 * item for s in shifts]))
        bits = [b.op("and", code, constant(code.type, 1 << i)) for i in ((1,) if single else (0, 1))]
        chosen.append(tuple(b.compare("ne", bit, constant(bit.type, 0)) for bit in bits))
    return chosen
