"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store: matrices between memory and registers.

Memory is read and written in pieces of rows, 16 bytes each (8 where a row has no more), as `matrix_rows` does it; the
pieces lie on the stack as an image, which is shuffled into registers by constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant, element, vector_constant, wide
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Fragment
from gridstride.virtual.lowering.instructions.matrix.matrix_images import MatrixImage
from gridstride.virtual.lowering.instructions.matrix.matrix_rows import RowCopy, copy
from gridstride.virtual.lowering.instructions.memory.addressing import vector_address
from gridstride.virtual.ptx.module import Address, Instruction, Operand
from gridstride.virtual.ptx.operands import items
from gridstride.virtual.ptx.types import TYPES

ROW = 16
"""Bytes of a row of an 8 × 8 matrix of 16-bit elements."""

TRANSPOSED = [8 * (i % 8) + i // 8 for i in range(2 * LANES)]
"""Where element i of the transpose of an 8 × 8 matrix lies in it; lane 4g + t holds elements 2t and 2t + 1 of row g."""


def shape_of(ins: Instruction) -> tuple[int, int, int]:
    """m, n, k out of the modifier that names them; zeros where none does."""
    for modifier in ins.modifiers:
        if match := re.fullmatch(r"m(\d+)n(\d+)k(\d+)", modifier):
            m, n, k = map(int, match.groups())
            return m, n, k
    return 0, 0, 0


# -- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------------------------------
def _transposed(cx: Lowering, word: Value) -> Value:
    b = cx.b
    return b.bitcast(b.shuffle(b.bitcast(word, f"<{2 * LANES} x i16>"), TRANSPOSED), wide("i32"))


def _rows(cx: Lowering, address: Operand, number: int, way: str, image: Value) -> None:
    """Copies the rows whose addresses the first 8 · number lanes give."""
    assert isinstance(address, Address)
    space = "shared" if space_of(cx.ins) == "shared" else "generic"
    access = Access(space, ROW, 1)
    site = cx.program.site(cx, access)
    with _first_lanes(cx, 8 * number):
        cx.program.observer.access(cx, site, access, address, way, image if way == "store" else None)
    copy(cx, RowCopy(way, space, ROW, 8 * number), site=site, address=vector_address(cx, address, space), image=image)


def _observe(cx: Lowering, access: Access, at: Value, way: str, lines: int) -> None:
    """Shows the observer addresses of the first lanes, which no operand holds."""
    with _first_lanes(cx, lines):
        cx.program.observer.access(cx, cx.program.site(cx, access), access, at, way)


def _observe_pieces(cx: Lowering, image: MatrixImage, access: Access, start: Value, distance: Value, way: str) -> None:
    """The matrix as the hardware asks for it: eight lines, eight elements of each, in one request.

    Seen on an H200 for 16-bit matrices and float sums (tests/virtual/fixtures/kernels_ncu_h200.json).
    """
    b = cx.b
    wide_ = min(max(1, 8 * image.fragment.bits // 8 // image.piece), image.pieces, LANES // 8)
    for first in range(0, image.lines, 8):
        for j in range(0, image.pieces, wide_):
            line = vector_constant(element(start.type), [first + i % 8 for i in range(LANES)])
            along = vector_constant(element(start.type), [image.piece * (j + i // 8 % wide_) for i in range(LANES)])
            at = b.op("add", b.op("add", start, b.op("mul", distance, line)), along)
            _observe(cx, access, at, way, 8 * wide_)


@contextmanager
def _first_lanes(cx: Lowering, number: int) -> Iterator[None]:
    """Code for the first lanes alone."""
    mask = cx.mask
    if number < LANES:
        cx.mask = cx.b.op("and", cx.current_mask(), constant("i32", (1 << number) - 1))
    yield
    cx.mask = mask


def load_matrix(cx: Lowering, ins: Instruction) -> None:
    """ldmatrix."""
    targets = items(ins.operands[0])
    image = area(cx, ROW * LANES)
    _rows(cx, ins.operands[1], len(targets), "load", image)
    for i, target in enumerate(targets):
        word = cx.b.load(wide("i32"), cx.b.offset(image, 8 * ROW * i), align=64)
        cx.set(target, _transposed(cx, word) if "trans" in ins.modifiers else word)


def store_matrix(cx: Lowering, ins: Instruction) -> None:
    """stmatrix."""
    sources = items(ins.operands[1])
    image = area(cx, ROW * LANES)
    for i, source in enumerate(sources):
        word = cx.vector(source, "b32")
        word = _transposed(cx, word) if "trans" in ins.modifiers else word
        cx.b.store(word, cx.b.offset(image, 8 * ROW * i), align=64)
    _rows(cx, ins.operands[0], len(sources), "store", image)


def move_matrix(cx: Lowering, ins: Instruction) -> None:
    """movmatrix: the transpose of an 8 × 8 matrix in registers."""
    cx.set(ins.operands[0], _transposed(cx, cx.vector(ins.operands[1], "b32")))


# -- wmma.load, wmma.store --------------------------------------------------------------------------------------------
def fragment_of(matrix: str, ptx_type: str, shape: tuple[int, int, int]) -> Fragment:
    """The fragment of a wmma operand (`matrix` is a, b, c or d)."""
    matrix = "c" if matrix == "d" else matrix
    bits = 32 if ptx_type == "tf32" else TYPES[ptx_type].bits
    plain = Fragment(matrix, *shape, bits, 0)
    # Fragments of halves have the eight registers that Volta's needed.
    full = 8 if ptx_type == "f16" and matrix != "c" else plain.own
    return Fragment(matrix, *shape, bits, full)


def load(cx: Lowering, ins: Instruction) -> None:
    """wmma.load.a, .b, .c."""
    image, targets = _image(cx, ins), items(ins.operands[0])
    _pieces(cx, ins, image, ins.operands[1:], "load")
    registers = [image.register(cx.b, r) for r in range(image.fragment.own)]
    for i, target in enumerate(targets):
        cx.set(target, registers[i % len(registers)])


def store(cx: Lowering, ins: Instruction) -> None:
    """wmma.store.d."""
    image, sources = _image(cx, ins), items(ins.operands[1])
    for i, source in enumerate(sources):
        image.put(cx.b, i, cx.vector(source, "b64" if image.fragment.bits == 64 else "b32"))
    _pieces(cx, ins, image, (ins.operands[0], *ins.operands[2:]), "store")


def _image(cx: Lowering, ins: Instruction) -> MatrixImage:
    matrix = next(m for m in ins.modifiers if m in ("a", "b", "c", "d"))
    fragment = fragment_of(matrix, ins.types[0], shape_of(ins))
    return MatrixImage(fragment, "row" in ins.modifiers, area(cx, MatrixImage.LARGEST))


def _pieces(cx: Lowering, ins: Instruction, image: MatrixImage, operands: tuple[Operand, ...], way: str) -> None:
    """Copies the matrix between memory and its image. Lane i takes line i: a row, or a column where those are whole."""
    address, b = operands[0], cx.b
    assert isinstance(address, Address)
    space = "shared" if space_of(ins) == "shared" else "generic"
    access = Access(space, image.piece, 1)
    start = vector_address(cx, address, space)
    stride = cx.vector(operands[1], "b32") if len(operands) > 1 else constant(wide("i32"), image.length)
    step = b.resize(stride, "i32" if space == "shared" else "i64", signed=True)
    bits = image.fragment.bits
    scaled = b.op("mul", step, constant(step.type, bits)) if bits > 1 else step
    distance = b.op("ashr", scaled, constant(scaled.type, 3))
    kind = "i32" if space == "shared" else "i64"
    lines = b.op("add", start, b.op("mul", distance, vector_constant(kind, range(LANES))))
    if cx.program.observer.observes:
        _observe_pieces(cx, image, access, start, distance, way)
    for j in range(image.pieces):
        at = b.op("add", lines, constant(lines.type, image.piece * j)) if j else lines
        pointer = b.offset(image.base, image.piece * image.lines * j)
        site = cx.program.site(cx, access)
        copy(cx, RowCopy(way, space, image.piece, image.lines), site=site, address=at, image=pointer)


def area(cx: Lowering, size: int) -> Value:
    """A place for an image, which all instructions of the function share."""
    areas = cx.program.scratch_of(cx).areas
    name = f"matrix image {size}"
    if name not in areas:
        areas[name] = cx.b.alloca(f"[{size} x i8]", align=64)
    return areas[name]
