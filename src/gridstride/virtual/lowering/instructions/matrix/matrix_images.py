"""The image of a wmma matrix on the stack: pieces of its lines, and how registers are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Builder, Value, constant, vector_constant, wide
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Fragment

PIECE = 16


@dataclass(frozen=True, slots=True)
class MatrixImage:
    """Piece j of all lines, then piece j + 1; a line is a row of a row-major matrix, else a column."""

    fragment: Fragment
    by_row: bool
    base: Value
    LARGEST: ClassVar[int] = 1024
    """Bytes of the largest matrix: 16 × 16 of 4 bytes, or 32 × 16 of 2."""

    @property
    def lines(self) -> int:
        return self.fragment.size[0 if self.by_row else 1]

    @property
    def length(self) -> int:
        """Elements of a line."""
        return self.fragment.size[1 if self.by_row else 0]

    @property
    def piece(self) -> int:
        """Bytes of a piece."""
        return min(PIECE, self.length * self.fragment.bits // 8)

    @property
    def pieces(self) -> int:
        return self.length * self.fragment.bits // 8 // self.piece

    def _bit(self, register: int, lane: int, item: int) -> int:
        """Where an element lies, in bits."""
        row, column = self.fragment.element(register, lane, item)
        line, at = (row, column) if self.by_row else (column, row)
        piece, offset = divmod(at * self.fragment.bits, 8 * self.piece)
        return 8 * self.piece * (self.lines * piece + line) + offset

    def register(self, b: Builder, number: int) -> Value:
        """A fragment's register."""
        f = self.fragment
        width = max(32, f.bits)
        bits = [[self._bit(number, lane, item) for item in range(f.packed)] for lane in range(LANES)]
        if all(x == own[0] + f.bits * i for own in bits for i, x in enumerate(own)):
            return self._words(b, [own[0] // width for own in bits], width)
        total: Value | None = None
        for item in range(f.packed):
            part = self._item(b, [own[item] for own in bits], item)
            total = part if total is None else b.op("or", total, part)
        assert total is not None
        return total

    def _item(self, b: Builder, bits: list[int], item: int) -> Value:
        """One element of each lane, at its place in the register."""
        words = self._words(b, [p // 32 for p in bits], 32)
        low = b.op("lshr", words, vector_constant("i32", [p % 32 for p in bits]))
        masked = b.op("and", low, constant(low.type, (1 << self.fragment.bits) - 1))
        return b.op("shl", masked, constant(masked.type, self.fragment.bits * item))

    def _words(self, b: Builder, indices: list[int], width: int) -> Value:
        """Words of the image, one for each lane: a shuffle of one or two blocks of 32, or a gather."""
        blocks = sorted({i // LANES for i in indices})
        type_, size = wide(f"i{width}"), width // 8
        if len(blocks) <= 2:
            loaded = [b.load(type_, b.offset(self.base, LANES * size * k), align=64) for k in blocks]
            picks = [LANES * blocks.index(i // LANES) + i % LANES for i in indices]
            return b.shuffle(loaded[0], picks, loaded[1] if len(loaded) > 1 else None)
        offsets = self._pointers(b, [size * i for i in indices])
        name = f"llvm.masked.gather.v{LANES}i{width}.v{LANES}p0"
        return b.call(type_, name, offsets, constant("i32", size), constant(wide("i1"), True), constant(type_, 0))

    def _pointers(self, b: Builder, offsets: list[int]) -> Value:
        return b.define(wide("ptr"), f"getelementptr i8, ptr {self.base.name}, {vector_constant('i64', offsets)!r}")

    def put(self, b: Builder, number: int, value: Value) -> None:
        """Writes a register of C or D, whose elements are whole bytes."""
        width = self.fragment.bits
        for item in range(self.fragment.packed):
            part = b.op("lshr", value, constant(value.type, width * item)) if item else value
            offsets = self._pointers(b, [self._bit(number, lane, item) // 8 for lane in range(LANES)])
            name = f"llvm.masked.scatter.v{LANES}i{width}.v{LANES}p0"
            every = constant(wide("i1"), True)
            b.call("void", name, b.resize(part, f"i{width}"), offsets, constant("i32", width // 8), every)
