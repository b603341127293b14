"""How a decoder's weights are packed for the one-launch kernel: nothing lost, everything where the kernel looks."""

from __future__ import annotations

import pytest
import torch

from gridstride.kernels.decode_step.packing import Geometry, stream

SMALL = Geometry(blocks=8, warps=4, width=256, hidden=256, heads=4, kv_heads=2, head_width=64)
SIXTEEN_ROWS, TILE = 16, 16 * 32


def layer(g: Geometry, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (g.qkv, g.width), (g.width, g.seen), (2 * g.hidden, g.width), (g.width, g.hidden)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


@pytest.mark.parametrize("by_warp", [False, True])
def test_every_weight_is_in_the_stream_once(by_warp: bool) -> None:
    weights, head = layer(SMALL, 0), torch.randn(SMALL.blocks * SMALL.head_tiles(1024) * 16, 256)
    packed = stream(SMALL, [weights], head, by_warp=by_warp)
    everything = torch.cat([w.flatten() for w in (*weights, head)])
    assert torch.equal(packed.flatten().sort().values, everything.sort().values)


def test_a_blocks_first_tiles_are_its_own_rows_of_queries_keys_and_values() -> None:
    weights = layer(SMALL, 1)
    packed = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)
    rows = SMALL.qkv // SMALL.blocks
    for block in range(SMALL.blocks):
        tiles = packed[block, : rows * 256].view(rows // 16, SMALL.chunks, 16, 32)
        assert torch.equal(tiles.transpose(1, 2).reshape(rows, 256), weights[0][block * rows : (block + 1) * rows])


def test_the_lower_rows_of_an_output_tile_are_the_same_rows_half_the_columns_on() -> None:
    weights = layer(SMALL, 2)
    start = SMALL.qkv * 256 // SMALL.blocks
    tile = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)[3, start : start + TILE].view(16, 32)
    first = 3 * SMALL.width // SMALL.blocks
    assert torch.equal(tile[:8], weights[1][first : first + 8, :32])
    assert torch.equal(tile[8:], weights[1][first : first + 8, SMALL.seen // 2 : SMALL.seen // 2 + 32])


def test_a_tile_of_the_gated_layer_has_gates_above_what_they_let_through() -> None:
    weights = layer(SMALL, 3)
    start = (SMALL.qkv + SMALL.seen) * 256 // SMALL.blocks
    tile = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=False)[5, start : start + TILE].view(16, 32)
    first = 5 * SMALL.hidden // SMALL.blocks
    assert torch.equal(tile[:8], weights[2][first : first + 8, :32])
    assert torch.equal(tile[8:], weights[2][SMALL.hidden + first : SMALL.hidden + first + 8, :32])


def test_the_output_projection_is_filled_up_with_zeros() -> None:
    head = torch.ones(300, 256)
    packed = stream(SMALL, [], head, by_warp=False)
    assert packed.sum() == 300 * 256
    assert packed.shape == (8, SMALL.head_tiles(300) * SIXTEEN_ROWS * 256)


def test_a_warps_columns_of_all_row_tiles_lie_together() -> None:
    weights = layer(SMALL, 4)
    packed = stream(SMALL, [weights], torch.zeros(300, 256), by_warp=True)
    rows, slice_ = SMALL.qkv // SMALL.blocks, SMALL.width // SMALL.warps
    for block, warp in ((0, 0), (3, 1), (7, 3)):
        share = packed[block, warp * rows * slice_ : (warp + 1) * rows * slice_]
        tiles = share.view(rows // 16, slice_ // 32, 16, 32).transpose(1, 2).reshape(rows, slice_)
        expected = weights[0][block * rows : (block + 1) * rows, warp * slice_ : (warp + 1) * slice_]
        assert torch.equal(tiles, expected)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 250}, "width in rows"),
        ({"hidden": 300}, "hidden"),
        ({"blocks": 6}, "blocks over heads"),
        ({"hidden": 16384, "blocks": 4}, "the ring"),
        ({"hidden": 65536}, "shared memory"),
    ],
)
def test_sizes_that_do_not_divide_are_named(change: dict[str, int], said: str) -> None:
    sizes = {name: getattr(SMALL, name) for name in Geometry.__slots__}
    assert said in Geometry(**{**sizes, **change}).misfit()


def test_the_shape_of_the_benchmark_fits_128_blocks() -> None:
    shape = {"width": 1024, "hidden": 3072, "heads": 16, "kv_heads": 8, "head_width": 128}
    assert not Geometry(blocks=128, warps=8, **shape).misfit()
