"""The rungs that are cut by macros as the op launches them, and how the op cuts its products."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.skinny_gemm.cut import (
    CANDIDATES,
    DEPENDENT,
    MOST_ROWS,
    PUSH,
    STEP,
    WARPGROUP,
    Tiling,
    TilingRule,
    by_rule,
    cut,
)
from gridstride.kernels.skinny_gemm.op import misfit
from gridstride.kernels.torch_op import ELEMENTS

BENCH = Path(__file__).parents[2] / "bench" / "results"
CHIP = 132
SHAPES = {"qkv": (4096, 1024), "output": (1024, 2048), "gate and up": (6144, 1024), "down": (1024, 3072)}
RUNGS = pytest.mark.parametrize(("rung", "share"), [(DEPENDENT, 1), (WARPGROUP, 1), (PUSH, 1), (PUSH, 2)])
DRAW = torch.Generator().manual_seed(5)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=DRAW)


def launched(chosen: Tiling, x: Tensor, w: Tensor, bias: Tensor | None, *, gated: bool) -> Tensor:
    """y as the virtual GPU computes it, with nothing to find for its sanitizer."""
    (m, k), n, element = x.shape, len(w), ELEMENTS[x.dtype]
    source = Path(find("skinny_gemm").path / "rungs" / f"{chosen.rung}.cu").read_text()
    macros = chosen.macros | {"ELEMENT": element, "GATED": int(gated)}
    options = [f"-D{name}={value}" for name, value in macros.items()]
    with gs.use(gs.VirtualGPU("h200", sanitize=True)):
        module = gs.cuda(source.replace("ELEMENT*", f"{element}*"), options)  # a launch holds arrays to spelled types
        y = torch.zeros(m, n // 2 if gated else n, dtype=x.dtype)
        kernel = module[f"skinny_gemm_{chosen.rung[3:]}"]
        run = kernel.observe(chosen.blocks(n), chosen.threads, chosen.shared(k))(x, w, bias, y, m, n, k // STEP)
    assert run.findings == ()
    assert gated or run.counters.bank_conflicts == 0  # gates lie 8 floats apart in the sums: read with conflicts
    return y


# -- the kernel --------------------------------------------------------------------------------------------------------
@RUNGS
def test_gates_in_bfloat16_with_a_bias_through_a_ring_that_is_filled_again(rung: str, share: int) -> None:
    chosen = Tiling(rung=rung, warps=4, rows=16, splits=2, columns=32, depth=2, share=share)
    x, w, bias = (normal(*shape).bfloat16() for shape in ((11, 192), (2 * 27, 192), (2 * 27,)))
    y = launched(chosen, x, w, bias, gated=True)
    gate, up = F.linear(x.double(), w.double(), bias.double()).chunk(2, dim=1)
    torch.testing.assert_close(y.double(), F.silu(gate) * up, rtol=2**-8, atol=1e-3)


@RUNGS
def test_many_rows_without_a_split_or_a_bias(rung: str, share: int) -> None:
    chosen = Tiling(rung=rung, warps=4, rows=64, splits=1, columns=160, depth=1, share=share)
    x, w = (normal(*shape).mul(2).round().half() for shape in ((35, 160), (70, 160)))
    assert torch.equal(launched(chosen, x, w, None, gated=False), F.linear(x.float(), w.float()).half())


def test_fewer_units_of_sums_than_blocks_that_could_store_them() -> None:
    chosen = Tiling(rung=PUSH, warps=4, rows=8, splits=8, columns=32, depth=1)
    x, w = (normal(*shape).mul(2).round().half() for shape in ((3, 256), (70, 256)))
    assert torch.equal(launched(chosen, x, w, None, gated=False), F.linear(x.float(), w.float()).half())


# -- the cut -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("m", [1, 8, 31, 32, 64, 128])
def test_a_small_products_weights_are_asked_for_at_once_by_one_block_on_each_multiprocessor(name: str, m: int) -> None:
    n, k = SHAPES[name]
    chosen = by_rule(TilingRule(rung=DEPENDENT), m, n, k, multiprocessors=CHIP)
    assert chosen is not None
    assert 0.95 * CHIP < chosen.blocks(n) <= CHIP
    assert chosen.columns * chosen.depth >= chosen.chunk(k)
    assert chosen.rows >= m


@pytest.mark.parametrize("rung", [DEPENDENT, PUSH])
@pytest.mark.parametrize("m", [1, 32])
def test_two_products_that_follow_each_other_have_room_on_one_multiprocessor(m: int, rung: str) -> None:
    rule = TilingRule(rung=rung)
    needed = [by_rule(rule, m, n, k, multiprocessors=CHIP).shared(k) + 2048 for n, k in SHAPES.values()]
    assert all(one + next_one <= 228 * 1024 for one, next_one in zip(needed, needed[1:] + needed[:1], strict=True))


@pytest.mark.parametrize(("k", "splits"), [(256, 1), (1024, 2), (2048, 4), (3072, 8), (8192, 8)])
def test_a_tall_cut_has_the_fewest_splits_whose_columns_are_no_more_than_said(k: int, splits: int) -> None:
    chosen = by_rule(TilingRule(rung=WARPGROUP, tall=512, slots=2), 32, 4096, k, multiprocessors=CHIP)
    assert (chosen.warps, chosen.splits) == (8, splits)


def test_as_many_blocks_share_x_as_have_room_in_a_cluster_of_eight() -> None:
    shared = [
        by_rule(TilingRule(rung=PUSH, tall=256, share=2), 32, *SHAPES[name], multiprocessors=CHIP) for name in SHAPES
    ]
    assert [each.share for each in shared] == [2, 1, 2, 1]
    assert all(each.blocks(n) % (each.splits * each.share) == 0 for each in shared for n in (1, 4096, 4097))


@pytest.mark.parametrize("m", [8, 16, 32])
@pytest.mark.parametrize("name", SHAPES)
def test_the_registers_of_two_blocks_of_any_candidate_fit(name: str, m: int) -> None:
    made = [by_rule(rule, m, *SHAPES[name], multiprocessors=CHIP) for rule in CANDIDATES if rule.rung == PUSH]
    assert all(each.warps * each.columns <= 2048 for each in made)  # as 08_push has it in BESIDE


RECORDED = json.loads((BENCH / "skinny_gemm_h200.json").read_text())["products"]
SWEPT = [(name, m) for name in ("qkv", "output", "gated", "down") for m in (8, 16, 32)]


@pytest.mark.parametrize(("name", "m"), SWEPT)
def test_the_ops_cut_is_nearly_the_fastest_that_was_timed(name: str, m: int) -> None:
    n, k = SHAPES["gate and up" if name == "gated" else name]
    times = {word: us for word, us in RECORDED[name][str(m)].items() if word != "cuBLAS"}
    assert times[cut(m, n, k, multiprocessors=CHIP).label] <= 1.1 * min(times.values())


@pytest.mark.parametrize("chip", [1, 114, CHIP])
@pytest.mark.parametrize("n", [1, 16, 17, 64, 2112, 8193, 151_936])
def test_whatever_the_rows_a_cut_covers_every_weight_and_fits_or_there_is_none(n: int, chip: int) -> None:
    for m, steps in product(range(1, MOST_ROWS + 1), (1, 2, 3, 7, 8, 9, 32, 33, 95, 128, 448, 449, 700, 1024)):
        k = steps * STEP
        chosen = cut(m, n, k, multiprocessors=chip)
        assert chosen or steps > 128  # 4096 columns fit whatever the rows
        if chosen:
            assert m <= chosen.rows <= (32 if chosen.rung == PUSH else MOST_ROWS)
            assert chosen.blocks(n) // chosen.splits * chosen.tall >= n
            assert chosen.chunk(k) * chosen.splits >= k
            assert chosen.shared(k) <= 226 * 1024  # of 227 KB: the barriers lie beside it
            assert chosen.columns % STEP == 0 < chosen.columns <= 512
            assert chosen.splits * chosen.share <= 8
            assert chosen.threads <= 1024


@pytest.mark.parametrize(("m", "rung"), [(1, PUSH), (32, PUSH), (33, WARPGROUP), (128, WARPGROUP)])
def test_sums_are_pushed_up_to_32_rows(m: int, rung: str) -> None:
    assert cut(m, 4096, 1024, multiprocessors=CHIP).rung == rung
    assert by_rule(TilingRule(rung=PUSH), 33, 4096, 1024, multiprocessors=CHIP) is None


def test_more_columns_than_the_pushing_rung_has_room_for_go_to_another_or_to_none() -> None:
    rungs = [found.rung if (found := cut(32, 4096, k, multiprocessors=CHIP)) else None for k in (4096, 19_200, 65_536)]
    assert rungs == [PUSH, WARPGROUP, None]


@pytest.mark.parametrize(("name", "warps"), [("qkv", 8), ("output", 4), ("gate and up", 8), ("down", 4)])
def test_four_warps_are_enough_where_all_blocks_are_on_the_chip_at_once(name: str, warps: int) -> None:
    chosen = cut(32, *SHAPES[name], multiprocessors=CHIP)
    assert chosen.warps == warps
    assert (chosen.blocks(SHAPES[name][0]) <= CHIP) == (name != "gate and up")


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (10, 0), (12, 0)])
def test_other_gpus_than_hoppers_are_refused_with_the_reason(
    capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = replace(gs.VirtualGPU("h200").properties, name="Other", compute_capability=capability)
    monkeypatch.setattr("gridstride.kernels.skinny_gemm.op.properties", lambda device: gpu)
    reason = misfit(normal(1, 64).half(), normal(64, 64).half())
    assert reason == f"Other has compute capability {capability[0]}.{capability[1]}, and the kernel is written for 9.0"


def test_what_a_hopper_cannot_take_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridstride.kernels.skinny_gemm.op.properties", lambda device: gs.VirtualGPU("h200").properties)
    monkeypatch.setattr("gridstride.kernels.skinny_gemm.op.multiprocessors", lambda device: CHIP)
    half = torch.zeros(1, 64).half()
    assert misfit(half, half) == ""
    assert "torch.float32 is not one of torch.float16, torch.bfloat16" in misfit(half.float(), half.float())
    assert misfit(half[:, :48], half[:, :48]).startswith("1 x 48 times 1 x 48: 1 to 128 rows and a multiple of 32")
    long = torch.zeros(1, 1 << 20).half()
    assert "as many as shared memory holds" in misfit(long, long)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 64, 64), (MOST_ROWS + 1, 64, 64), (1, 64, 48), (128, 4096, 65536)])
def test_what_does_not_fit_has_no_cut(m: int, n: int, k: int) -> None:
    assert cut(m, n, k, multiprocessors=CHIP) is None
