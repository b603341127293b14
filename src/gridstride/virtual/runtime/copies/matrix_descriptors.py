"""Matrix descriptors of wgmma: where in shared memory a matrix lies, and its way into the order that fragments have.

A matrix consists of pieces of 8 rows by 16 bytes of k. Without transposition each of a piece's 8 chunks of 16 bytes is
a row's; transposed (elements of 16 bits), chunk r holds 8 rows at index r of k. Chunk r lies r · width behind the
piece's first, width being the bytes of a swizzle pattern's row (16 without one); the swizzle then turns bits 4–6 of
the address by bits 7–9 less the base offset. (PTX ISA, "Matrix Descriptor"; what a start inside of a pattern, a base
offset and a second pattern along k do was seen on an H200.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gridstride.virtual.abi.address_spaces import SHARED
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import Builder, IrModule, Value
from gridstride.virtual.runtime.common import i32

CHUNK, ROWS = 16, 8
PIECE = CHUNK * ROWS


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor's fields as i32, lengths in bytes; `turn` masks the row of a pattern, `transposed` is an i1."""

    start: Value
    leading: Value
    stride: Value
    base: Value
    width: Value
    turn: Value
    transposed: Value

    @staticmethod
    def read(b: Builder, word: Value, transposed: Value) -> Descriptor:
        """The fields of an i64. `transposed` is an i32."""
        start, leading, stride = (_bytes(b, word, at) for at in (0, 16, 32))
        swizzle = b.resize(word >> 62, "i32")
        steps = (4 - swizzle) & 3
        width = CHUNK << steps
        turn = (width >> 4) - 1
        base = b.resize(word >> 49, "i32") & 7
        return Descriptor(start, leading, stride, base, width, turn, transposed != 0)

    def piece(self, b: Builder, group: Value, chunk: Value) -> Value:
        """Where the piece of rows 8 · group and the chunk-th 16 bytes of k starts, before it is turned."""
        inner = self.transposed & (self.turn != 0)
        along, across = b.select(inner, self.leading, self.stride), b.select(inner, self.stride, self.leading)
        # Along its contiguous side a matrix goes on in the pattern's row, then in the next pattern.
        run = b.select(self.transposed, group, chunk)
        within = (run & self.turn) * CHUNK
        pattern = run // (self.turn + 1)
        rows = pattern * along + chunk * across
        plain = group * self.stride + pattern * self.leading
        return self.start + (within + b.select(self.transposed, rows, plain))

    def chunk(self, b: Builder, piece: Value, r: Value | int) -> Value:
        """Where chunk r of a piece is."""
        at = piece + self.width * (i32(r) if isinstance(r, int) else r)
        row = ((at >> 7) - self.base) & self.turn
        return at ^ (row << 4)


def _bytes(b: Builder, word: Value, at: int) -> Value:
    """A field of 14 bits that counts units of 16 bytes."""
    field = b.resize(word >> at if at else word, "i32")
    return (field & 0x3FFF) << 4


@contextmanager
def counted(b: Builder, end: Value) -> Iterator[Value]:
    """Runs its body for 0 … end - 1, an i32."""
    at = b.alloca("i32")
    b.store(i32(0), at)
    with b.loop() as done:
        index = b.load("i32", at)
        b.break_if(index >= end, done)
        yield index
        b.store(index + 1, at)


def emit_descriptors(m: IrModule) -> None:
    """gs_wgmma_image: a matrix out of shared memory, piece by piece: of each 8 rows all of k, then the next 8 rows.

    Transposed pieces are put upright, so that an image is what the registers of a fragment hold, register by register
    in B and row half by row half in A. Nothing outside of the block's shared memory is read.
    """
    head = ("warp* warp", "i32 site", "i64 descriptor", "i32 transposed", "i32 first", "i32 groups", "i32 chunks",
            "ptr image")  # fmt: skip
    with m.function("void", "gs_wgmma_image", *head) as (b, args):
        warp, site, word, transposed, first, groups, chunks, image = args
        d = Descriptor.read(b, word, transposed)
        shared = b.pointer(warp.shared)
        limit = b.resize(warp.shared_size, "i32") - CHUNK
        with counted(b, groups) as group, counted(b, chunks) as chunk:
            piece = d.piece(b, first + group, chunk)
            starts = [d.chunk(b, piece, r) for r in range(ROWS)]
            last = starts[0]
            for start in starts[1:]:
                last = b.intrinsic("umax", last, start)
            with b.if_(b.compare("sgt", last, limit)):
                address, size = b.resize(last, "i64"), i32(CHUNK)
                kind = i32(FAULT["out_of_bounds"])
                b.call("void", "gs_fault_in", warp, site, kind, i32(1), address, size, i32(SHARED))
            rows = [b.load("<8 x i16>", b.offset(shared, b.resize(p, "i64")), align=CHUNK) for p in starts]
            number = group * chunks + chunk
            to = b.offset(image, b.resize(number, "i64") * PIECE)
            with b.if_(d.transposed):
                for r, row in enumerate(_upright(b, rows)):
                    b.store(row, b.offset(to, CHUNK * r), align=CHUNK)
            with b.if_(~d.transposed):
                for r, row in enumerate(rows):
                    b.store(row, b.offset(to, CHUNK * r), align=CHUNK)


def _upright(b: Builder, rows: list[Value]) -> list[Value]:
    """Eight vectors of eight, transposed: pairs, then fours, then eights are brought together."""
    for step in (1, 2, 4):
        turned = list(rows)
        for i in (i for i in range(ROWS) if not i & step):
            low = [j if not j & step else ROWS + j - step for j in range(ROWS)]
            high = [j + step if not j & step else ROWS + j for j in range(ROWS)]
            turned[i] = b.shuffle(rows[i], low, rows[i + step])
            turned[i + step] = b.shuffle(rows[i], high, rows[i + step])
        rows = turned
    return rows
