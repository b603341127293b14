"""The runtime's walk through a tensor: the rows that a copy moves, tile by tile or pixel by pixel (im2col)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gridstride.virtual.abi.tensor_map_layout import ELEMENTS, RANKS, TENSOR
from gridstride.virtual.ir.builder import Builder, Record, Value, constant
from gridstride.virtual.runtime.common import i32, i64

CHUNK = 16


@dataclass(frozen=True, slots=True)
class CopyShape:
    """What a copy moves: `count` rows of `row` bytes, `pitch` bytes apart in shared memory.

    A unit is an element, or 16 bytes of a slice of channels where the tensor is interleaved; `units` are those of a
    row, `length` those of the tensor's own rows, `per` those of a pixel; `step` pixels apart are
    those that are copied.
    """

    unit: Value
    per: Value
    step: Value
    units: Value
    length: Value
    row: Value
    pitch: Value
    count: Value

    def total(self, b: Builder) -> Value:
        return self.row * self.count

    def extent(self, b: Builder) -> Value:
        """Bytes of shared memory from first to last."""
        return b.intrinsic("umin", self.pitch * self.count, i64((1 << 31) - 1))


@dataclass(frozen=True, slots=True)
class TensorRow:
    """The `number`-th row of a copy: where the tensor's row starts, and whether it is inside of the tensor at all."""

    number: Value
    start: Value
    inside: Value


def element_size(b: Builder, map_: Record) -> Value:
    """Bytes of an element, by the number of its type: four bits of a constant each."""
    table = sum(size << 4 * number for number, size in enumerate(ELEMENTS))
    type_ = b.intrinsic("umin", map_.element, i32(len(ELEMENTS) - 1))
    shift = b.resize(type_, "i64") * 4
    return (i64(table) >> shift) & 15


def _flag(b: Builder, map_: Record, name: str) -> Value:
    return b.get(map_, TENSOR, name) != 0


def _wide(b: Builder, map_: Record, name: str, axis: int) -> Value:
    return b.resize(b.get(map_, TENSOR, name, axis), "i64")


def _step(b: Builder, map_: Record, axis: int) -> Value:
    return _wide(b, map_, "step", axis) + 1


def _slices(b: Builder, map_: Record, axis: int) -> Value:
    """Whether an axis is the one that counts slices of channels, of which a copy moves one."""
    rank = map_.rank
    return _flag(b, map_, "interleave") & (rank == axis + 2)


def shape_of(b: Builder, map_: Record) -> CopyShape:
    """The copy's shape."""
    slices = b.resize(map_.interleave, "i64")
    interleaved = slices != 0
    unit = b.select(interleaved, i64(CHUNK), element_size(b, map_))
    per = b.select(interleaved, slices >> 4, i64(1))  # units of a pixel
    box, first = _wide(b, map_, "box", 0), b.select(interleaved, _step(b, map_, 0), i64(1))
    units = ((box + (first - 1)) // first) * per
    tiles: Value = i64(1)
    for axis in range(1, RANKS):
        step = _step(b, map_, axis)
        n = (_wide(b, map_, "box", axis) + (step - 1)) // step
        tiles = tiles * b.select(_slices(b, map_, axis), i64(1), n)
    count = b.select(_flag(b, map_, "im2col"), _wide(b, map_, "box", 1), tiles)
    row = units * unit
    mask = b.resize(map_.swizzle, "i64")
    length = b.select(interleaved, row, mask + CHUNK)  # a pattern's rows are whole
    pitch = b.select(mask == 0, row, length)
    return CopyShape(unit, per, first, units, _wide(b, map_, "size", 0) * per, row, pitch, count)


def corner_of(b: Builder, word: Value) -> tuple[Value, Value]:
    """A coordinate (lower half, signed) and the im2col offset that is added to it (upper half)."""
    low = b.resize(b.resize(word, "i32"), "i64", signed=True)
    return low, word >> 32


@contextmanager
def rows(b: Builder, map_: Record, shape: CopyShape, corner: Sequence[Value]) -> Iterator[TensorRow]:
    """Runs its body for each row of the copy at a corner, in the order in which they lie in shared memory."""
    axes = range(1, RANKS)
    at, number = b.alloca(f"[{RANKS} x i64]"), b.alloca("i64")
    starts, offsets = zip(*(corner_of(b, word) for word in corner), strict=True)
    limits = [_limits(b, map_, axis, starts[axis]) for axis in axes]
    for axis in axes:
        b.store(starts[axis], b.offset(at, 8 * axis))
    b.store(i64(0), number)
    with b.loop() as done:
        r = b.load("i64", number)
        b.break_if(r >= shape.count, done)
        b.store(r + 1, number)
        start, inside = map_.address, constant("i1", True)
        for axis in axes:
            x = b.load("i64", b.offset(at, 8 * axis)) + offsets[axis]
            inside &= x < _wide(b, map_, "size", axis)
            start += x * map_.stride[axis - 1]
        yield TensorRow(r, start, inside)
        carry: Value = constant("i1", True)
        for axis, (first, end, step) in zip(axes, limits, strict=True):
            pointer = b.offset(at, 8 * axis)
            x = b.load("i64", pointer) + b.select(carry, step, i64(0))
            carry &= b.compare("sge", x, end)
            b.store(b.select(carry, first, x), pointer)


def pixel_box(b: Builder, map_: Record, axis: int) -> tuple[Value, Value]:
    """The box of im2col along an axis of the image: from a coordinate to below another."""
    word = map_.corner[axis - 1]
    low = b.op("ashr", b.resize(word << 16, "i64", signed=True), i64(16))
    high = b.resize(b.op("ashr", word, i32(16)), "i64", signed=True)
    return low, high + _wide(b, map_, "size", axis)


def _limits(b: Builder, map_: Record, axis: int, start: Value) -> tuple[Value, Value, Value]:
    """Where an axis starts again, where it ends, and its step.

    A tile's axes start again at the corner. Those of an image do so at the box of im2col, whatever the corner, and its
    batch goes on for ever.
    """
    step = _step(b, map_, axis)
    box = b.select(_slices(b, map_, axis), i64(1), _wide(b, map_, "box", axis))
    end = start + box
    if axis == RANKS - 1:
        image, low, high = b.constant("i1", False), i64(0), i64(0)
    else:
        image = map_.rank > axis + 1
        low, high = pixel_box(b, map_, axis)
    forever = i64((1 << 62) - 1)
    columns = _flag(b, map_, "im2col")
    return (
        b.select(columns, low, start),
        b.select(columns, b.select(image, high, forever), end),
        b.select(columns & ~image, i64(1), step),
    )
