"""A decoder's weights in the order in which `decode_step` reads them: one stream per block, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

STAGE_TILES = 16
STAGES = 12  # of the ring
SHARED = 227 * 1024  # bytes of dynamic shared memory: all that a Hopper multiprocessor gives one block
_PRODUCTS = "queries, keys and values", "the output", "gate and up", "down"
_STAGE = STAGE_TILES * 16 * 32  # elements of one bulk copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """How a decoder is cut over blocks and warps; numbers as the kernel's macros have them."""

    blocks: int
    warps: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int

    @property
    def qkv(self) -> int:
        """Rows of the fused projection of queries, keys and values."""
        return (self.heads + 2 * self.kv_heads) * self.head_width

    @property
    def seen(self) -> int:
        """What all heads see together."""
        return self.heads * self.head_width

    @property
    def chunks(self) -> int:
        """Column chunks of 32 of a product of the residual stream."""
        return self.width // 32

    @property
    def tiles(self) -> tuple[int, int, int, int]:
        """Of a block in a layer's products: queries, keys and values; output; gate and up; down."""
        rows, own, units = (tiles // self.blocks for tiles in (self.qkv // 16, self.width // 8, self.hidden // 8))
        return rows * self.chunks, own * (self.seen // 64), units * self.chunks, own * (self.hidden // 64)

    @property
    def splits(self) -> int:
        """Blocks that share a query head."""
        return max(1, self.blocks // self.heads)

    @property
    def shared(self) -> int:
        """Bytes of shared memory that a block needs at most, with 2 KB for what is small."""
        active = 4 * max(self.seen, self.hidden, self.width) + 256 * self.warps
        rows = max(self.qkv // 16, self.hidden // 8, self.width // 8) // self.blocks
        sums = 4 * (32 * self.warps + 128) * max(rows, self.head_group)
        attention = self.head_width * (4 * self.warps + 4 + 4 + 12)
        return STAGES * STAGE_TILES * 1024 + active + sums + attention + 2048

    @property
    def head_group(self) -> int:
        """Row tiles of the output projection at a time: whole stages, and where half the ring holds them about four."""
        least = max(1, STAGE_TILES // max(1, self.chunks))
        return least * max(1, min(STAGES * STAGE_TILES // 2 // max(1, least * self.chunks), 4 // least))

    def head_tiles(self, vocabulary: int) -> int:
        """Row tiles of the output projection that a block has, padded to whole groups."""
        tiles = -(-vocabulary // (16 * self.blocks))
        return -(-tiles // self.head_group) * self.head_group

    def misfit(self) -> str:
        """Which size does not divide as the kernel needs it; empty where all do."""
        b, w = self.blocks, self.warps
        needs = {
            "rows of queries, keys and values": (self.qkv, 16 * b), "width in rows": (self.width, 8 * b),
            "hidden in rows": (self.hidden, 8 * b), "width in columns": (self.width, 32 * w),
            "heads in columns": (self.seen, 64 * w), "hidden in columns": (self.hidden, 64 * w),
            "blocks over heads": (b, self.heads), "heads over key heads": (self.heads, self.kv_heads),
            "head_width over splits": (self.head_width, 4 * self.splits), "warps": (w, 4),
            **{f"tiles of {name}": (tiles, STAGE_TILES) for name, tiles in zip(_PRODUCTS, self.tiles, strict=True)},
        }  # fmt: skip
        wrong = [
            f"{name}: {size} is no multiple of {unit}"
            for name, (size, unit) in needs.items()
            if size % unit or not size
        ]
        tiles_of_two = max(first + second for first, second in pairwise((*self.tiles, self.tiles[0])))
        if tiles_of_two > STAGES * STAGE_TILES:
            wrong.append(f"two products in a row have {tiles_of_two} tiles in a block, the ring {STAGES * STAGE_TILES}")
        stages = self.head_group * self.chunks // STAGE_TILES
        if 2 * stages != STAGES and 3 * stages > STAGES:
            wrong.append(f"a group of the head has {stages} stages: two must fill the ring of {STAGES}, or three fit")
        if self.shared > SHARED:
            wrong.append(f"{self.shared} bytes of shared memory are needed, there are {SHARED}")
        if self.head_width not in (64, 128):
            wrong.append(f"head_width {self.head_width} is not 64 or 128")
        if self.chunks > STAGE_TILES and self.chunks % STAGE_TILES:
            wrong.append(f"width {self.width} is no multiple of {32 * STAGE_TILES}")
        return "; ".join(wrong)


def stream(
    g: Geometry, layers: Sequence[tuple[Tensor, Tensor, Tensor, Tensor]], head: Tensor, *, by_warp: bool
) -> Tensor:
    """[blocks, elements] of layers of (qkv, output, gate_up, down) and the head [vocabulary, width], bf16.

    Tiles of a product lie row tile by row tile; `by_warp`, each warp's columns first, of all row tiles.
    """
    tiles = g.head_tiles(len(head))
    per_layer = (g.qkv * g.width + g.width * g.seen + 3 * g.hidden * g.width) // g.blocks
    stream_of_blocks = head.new_empty((g.blocks, len(layers) * per_layer + tiles * 16 * g.width))

    def put(at: int, product: Tensor) -> int:
        flat = (_warps(g, product) if by_warp else product).flatten(1)
        stream_of_blocks[:, at : at + flat.shape[1]] = flat
        return at + flat.shape[1]

    at = 0
    for qkv, output, gate_up, down in layers:
        for product in (_rows(g, qkv), _halves(g, output), _pairs(g, gate_up), _halves(g, down)):
            at = put(at, product)
    padded = head.new_zeros((g.blocks * tiles * 16, g.width))
    padded[: len(head)] = head
    for product in _rows(g, padded).split(g.head_group, dim=1):
        at = put(at, product)
    assert at == stream_of_blocks.shape[1]
    assert at % _STAGE == 0
    return stream_of_blocks


def _warps(g: Geometry, product: Tensor) -> Tensor:
    """[blocks, warps, tiles, chunks of a warp, ...] of [blocks, tiles, chunks, ...]."""
    return product.unflatten(2, (g.warps, -1)).transpose(1, 2)


def _rows(g: Geometry, matrix: Tensor) -> Tensor:
    """[blocks, tiles, chunks, 16, 32]: 16 rows by 32 columns a tile."""
    return matrix.view(g.blocks, -1, 16, matrix.shape[1] // 32, 32).transpose(2, 3)


def _halves(g: Geometry, matrix: Tensor) -> Tensor:
    """[blocks, tiles, chunks, 2, 8, 32]: 8 rows by 32 columns, and the same rows half the columns further on."""
    return matrix.view(g.blocks, -1, 8, 2, matrix.shape[1] // 64, 32).permute(0, 1, 4, 3, 2, 5)


def _pairs(g: Geometry, matrix: Tensor) -> Tensor:
    """[blocks, tiles, chunks, 2, 8, 32]: 8 rows of the gate above the 8 rows of what they let through."""
    return matrix.view(2, g.blocks, -1, 8, g.chunks, 32).permute(1, 2, 4, 0, 3, 5)
