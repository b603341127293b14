"""Which lane and register holds which element of a matrix instruction (PTX ISA, "Matrix Fragments for mma").

One rule covers every shape and type but Volta's m8n8k4 of halves. A lane is 4g + t. Registers of A and B hold e
consecutive elements of k; t numbers them within a block of 4e, and each register along k is the next such block. A's
rows and D's rows are g and g + 8, B's columns are g, D's columns 2t and 2t + 1.

wmma fragments are not specified by the ISA. Here, as in the code that ptxas makes for Hopper, they are those of the mma
tiles a shape consists of; m8n32k16 is the transpose of m32n8k16. Where a fragment has more registers than its matrix
needs, they repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gridstride.virtual.abi.hardware_limits import LANES

ROWS = 8
"""Rows that one set of registers covers: the values of g."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One hardware multiplication, `rows` × 8 × `k`, of elements of `bits` bits."""

    rows: int
    k: int
    bits: int

    @property
    def packed(self) -> int:
        """Elements of A or B in a register; registers have 32 bits, or 64 where an element has."""
        return max(1, 32 // self.bits)

    @property
    def blocks(self) -> int:
        """Registers along k."""
        return self.k // (4 * self.packed)

    @property
    def halves(self) -> int:
        """Registers along the rows."""
        return self.rows // ROWS

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many registers A, B and an unpacked C have."""
        return self.blocks * self.halves, self.blocks, 2 * self.halves

    def a(self, register: int, lane: int, item: int) -> tuple[int, int]:
        """(row, k) of an element of A."""
        block, half = divmod(register, self.halves)
        return lane // 4 + ROWS * half, self._k(block, lane, item)

    def b(self, register: int, lane: int, item: int) -> tuple[int, int]:
        """(k, column) of an element of B."""
        return self._k(register, lane, item), lane // 4

    def _k(self, block: int, lane: int, item: int) -> int:
        return (4 * block + lane % 4) * self.packed + item

    def position(self, k: int) -> tuple[int, int, int]:
        """(register along k, t, item) that hold an index of k."""
        word, item = divmod(k, self.packed)
        return word // 4, word % 4, item


def accumulator(register: int, lane: int, item: int, packed: int) -> tuple[int, int]:
    """(row, column) of an element of C or D, of which a register holds `packed`: two halves or one wider number."""
    pair, odd = (register, item) if packed == 2 else divmod(register, 2)
    return lane // 4 + ROWS * pair, 2 * (lane % 4) + odd


@dataclass(frozen=True, slots=True)
class Fragment:
    """A wmma operand: matrix `a`, `b` or `c` of m × n × k, `bits` an element, in `registers` registers."""

    matrix: str
    m: int
    n: int
    k: int
    bits: int
    registers: int

    @property
    def packed(self) -> int:
        """Elements in a register."""
        return max(1, 32 // self.bits)

    @property
    def swapped(self) -> bool:
        """True where the shape is computed as its transpose."""
        return self.m == 8 and self.n == 32

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return {"a": (self.m, self.k), "b": (self.k, self.n), "c": (self.m, self.n)}[self.matrix]

    @property
    def own(self) -> int:
        """Registers that hold distinct elements; the others repeat them."""
        rows, columns = self.size
        return rows * columns // (LANES * self.packed)

    def element(self, register: int, lane: int, item: int) -> tuple[int, int]:
        """(row, column) of an element of the matrix."""
        register %= self.own
        role = {"a": "b", "b": "a"}.get(self.matrix, "c") if self.swapped else self.matrix
        row, column = {"a": self._a, "b": self._b, "c": self._c}[role](register, lane, item)
        return (column, row) if self.swapped else (row, column)

    def _tile(self) -> Tile:
        return Tile(min(16, max(self.m, self.n) if self.swapped else self.m), self.k, self.bits)

    def _a(self, register: int, lane: int, item: int) -> tuple[int, int]:
        tile = self._tile()
        number, register = divmod(register, tile.registers[0])
        row, k = tile.a(register, lane, item)
        return row + tile.rows * number, k

    def _b(self, register: int, lane: int, item: int) -> tuple[int, int]:
        tile = self._tile()
        number, register = divmod(register, tile.blocks)
        k, column = tile.b(register, lane, item)
        return k, column + 8 * number

    def _c(self, register: int, lane: int, item: int) -> tuple[int, int]:
        tile = self._tile()
        number, register = divmod(register, 2 * tile.halves // (2 if self.bits == 16 else 1))
        row, column = accumulator(register, lane, item, 2 if self.bits == 16 else 1)
        tall = max(self.m, self.n) > 16
        return (row + 16 * number, column) if tall else (row, column + 8 * number)


def elements(fragment: Fragment) -> Iterator[tuple[int, int, int, int, int]]:
    """(register, lane, item, row, column) of every element a fragment holds, repeated registers left out."""
    for register in range(fragment.own):
        for lane in range(LANES):
            for item in range(fragment.packed):
                yield register, lane, item, *fragment.element(register, lane, item)
