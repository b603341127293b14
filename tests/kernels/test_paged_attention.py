"""Rung 04 of paged attention: how its ring is cut, and what it computes for other shapes than the judged one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import KernelFile
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.paged_attention.ring import Ring, RingTuning, cut
from gridstride.kernels.torch_op import ELEMENTS

H200 = {"shared_per_block": 232_448, "shared_per_multiprocessor": 233_472}
RESERVED = 1024  # bytes of a multiprocessor that each block takes besides its own
JUDGED = Ring(
    width=64, group=2, block_size=16, stages=6, piece=8, warps=4, resident=2, least=16, part=0, snap=32, slack=4,
    even=8, evict_first=True,
)  # fmt: skip


def fitting(width: int = 128, group: int = 2, block_size: int = 16, **more: int) -> Ring:
    ring = cut(width, group, block_size, **H200, tuning=RingTuning(**more))
    assert isinstance(ring, Ring), ring
    return ring


@pytest.fixture(scope="module")
def rung() -> KernelFile:
    (file,) = (file for file in find("paged_attention").rungs() if file.name == "04_bulk_ring")
    return file


# -- how it is cut -----------------------------------------------------------------------------------------------------
def test_two_blocks_of_the_benchmarks_shape_share_a_multiprocessor() -> None:
    ring = fitting()
    assert 2 * (ring.shared + RESERVED) <= H200["shared_per_multiprocessor"]
    assert ring.stages * 8 * ring.piece >= 192  # tokens on their way: the whole of a sequence of that many


@pytest.mark.parametrize("width", [16, 64, 80, 128, 192, 256])
@pytest.mark.parametrize("group", [1, 8, 9, 16])
def test_registers_and_shared_memory_decide_how_many_blocks(width: int, group: int) -> None:
    ring = fitting(width, group)
    assert ring.resident * (ring.shared + RESERVED) <= H200["shared_per_multiprocessor"]
    assert ring.resident == (1 if width * -(-group // 8) > 256 else 2)


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 8])
def test_copies_divide_blocks_tiles_divide_over_warps_and_stages_over_teams(warps: int) -> None:
    for block_size in range(1, 65):
        ring = fitting(block_size=block_size, warps=warps)
        tiles = (ring.piece + 1) // 2
        assert block_size % ring.piece == 0
        assert tiles % warps == 0 or warps % tiles == 0
        assert ring.stages % max(1, warps // tiles) == 0


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ({"width": 72}, "head width 72"),
        ({"group": 17}, "17 query heads"),
        ({"shared_per_block": 9_000, "width": 256}, "9000 bytes"),
    ],
)
def test_what_does_not_fit_is_named(shape: dict[str, int], said: str) -> None:
    why = cut(**({"width": 128, "group": 2, "block_size": 16} | H200 | shape))
    assert isinstance(why, str)
    assert said in why


def test_the_judged_kernel_is_given_the_shared_memory_that_its_ring_has(rung: KernelFile) -> None:
    assert rung.launch is not None
    shape = rung.launch.shape({"S": 3, "K": 2, "SMS": 132})
    assert (shape.shared, shape.block[0]) == (JUDGED.shared, JUDGED.threads)
    assert f"#define SHARED {JUDGED.shared} " in rung.source


# -- what it computes --------------------------------------------------------------------------------------------------
LENGTHS = (1, 37, 0, 333, 64)
SMALL = {"shared_per_block": 18_000, "shared_per_multiprocessor": 1 << 20}
TEAMS = RingTuning(piece=2, least=16, snap=32)
UNEVEN = RingTuning(piece=5, warps=3, least=16, part=7, snap=32, slack=100, even=8, evict_first=False)
SHAPES = {
    "teams of one warp": (torch.bfloat16, cut(32, 8, 16, **SMALL, tuning=TEAMS), False),
    "two columns of heads, nothing divides, the past ahead": (
        torch.float16,
        cut(16, 11, 5, **SMALL, tuning=UNEVEN),
        True,
    ),
}
"""Compiling one takes the virtual GPU some seconds: as few as show every branch."""


def given(ring: Ring, dtype: torch.dtype, kv: int = 2) -> list[Tensor]:
    """q, keys, values, tables, lengths. Blocks that no sequence has are NaN, and so is what is behind a last token."""
    generator = torch.Generator().manual_seed(3)
    width, size = -(-max(LENGTHS) // ring.block_size), ring.block_size
    tables = torch.randperm(len(LENGTHS) * width + 4, generator=generator)[: len(LENGTHS) * width].view(-1, width)
    caches = torch.full((2, len(LENGTHS) * width + 4, kv, size, ring.width), torch.nan)
    for table, length in zip(tables, LENGTHS, strict=True):
        for token in range(length):
            row = torch.randn(2, kv, ring.width, generator=generator)
            caches[:, table[token // size], :, token % size] = row
    q = torch.randn(len(LENGTHS), kv * ring.group, ring.width, generator=generator)
    return [q.to(dtype), *caches.to(dtype), tables.int(), torch.tensor(LENGTHS).int()]


@pytest.mark.parametrize("name", SHAPES)
def test_any_shape_and_any_grid(rung: KernelFile, name: str) -> None:
    dtype, ring, fixed_past = SHAPES[name]
    assert isinstance(ring, Ring), ring
    q, keys, values, tables, lengths = given(ring, dtype)
    expected = paged_attention(q.float(), keys.float(), values.float(), tables, lengths, scale=0.2)
    macros = {**ring.macros, "ELEMENT": ELEMENTS[dtype], "FIXED_PAST": int(fixed_past), "AT_ONCE": 3}
    arrived = torch.zeros(len(q), keys.shape[1], dtype=torch.int32)
    with gs.use(gs.VirtualGPU("h200", sanitize=True, workers=1)):
        module = gs.cuda(rung.source, [f"-D{macro}={value}" for macro, value in macros.items()], filename=rung.filename)
        for blocks in (1, 5, 60):
            out, partial = torch.full_like(q, torch.nan), torch.full(ring.records(blocks), torch.nan)
            module[rung.entry][blocks, ring.threads, ring.shared](
                q, keys, values, tables, lengths, out, partial, arrived, len(q), keys.shape[1],
                tables.shape[1], 0.2,
            )  # fmt: skip
            torch.testing.assert_close(out.float(), expected, rtol=0, atol=4 * torch.finfo(dtype).eps)
            assert not arrived.any()


def test_shared_memory_that_is_not_the_rings_is_refused(rung: KernelFile) -> None:
    with pytest.raises(gs.CompileError, match="the launch gives what is used"):
        gs.cuda(rung.source, [f"-D{k}={v}" for k, v in (replace(JUDGED, stages=2).macros | {"SHARED": 16}).items()])
