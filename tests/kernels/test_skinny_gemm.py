"""The last rung as the op launches it, and how the op cuts its products."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.skinny_gemm.cut import MOST_ROWS, STEP, Cut, cut
from gridstride.kernels.torch_op import ELEMENTS

CHIP = 132
SHAPES = {"qkv": (4096, 1024), "output": (1024, 2048), "gate and up": (6144, 1024), "down": (1024, 3072)}
RUNGS = pytest.mark.parametrize("rung", ["06_dependent", "07_warpgroup"])
DRAW = torch.Generator().manual_seed(5)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=DRAW)


def launched(rung: str, chosen: Cut, x: Tensor, w: Tensor, bias: Tensor | None, *, gated: bool) -> Tensor:
    """y as the virtual GPU computes it, with nothing to find for its sanitizer."""
    (m, k), n, element = x.shape, len(w), ELEMENTS[x.dtype]
    source = Path(find("skinny_gemm").path / "rungs" / f"{rung}.cu").read_text()
    macros = chosen.macros | {"ELEMENT": element, "GATED": int(gated)}
    options = [f"-D{name}={value}" for name, value in macros.items()]
    with gs.use(gs.VirtualGPU("h200", sanitize=True)):
        module = gs.cuda(source.replace("ELEMENT*", f"{element}*"), options)  # a launch holds arrays to spelled types
        y = torch.zeros(m, n // 2 if gated else n, dtype=x.dtype)
        kernel = module[f"skinny_gemm_{rung[3:]}"]
        run = kernel.observe(chosen.blocks(n), 32 * chosen.warps, chosen.shared(k))(x, w, bias, y, m, n, k // STEP)
    assert run.findings == ()
    assert gated or run.counters.bank_conflicts == 0  # gates lie 8 floats apart in the sums: read with conflicts
    return y


# -- the kernel --------------------------------------------------------------------------------------------------------
@RUNGS
def test_gates_in_bfloat16_with_a_bias_through_a_ring_that_is_filled_again(rung: str) -> None:
    chosen = Cut(warps=4, rows=16, splits=2, columns=32, depth=2)
    x, w, bias = (normal(*shape).bfloat16() for shape in ((11, 192), (2 * 27, 192), (2 * 27,)))
    y = launched(rung, chosen, x, w, bias, gated=True)
    gate, up = F.linear(x.double(), w.double(), bias.double()).chunk(2, dim=1)
    torch.testing.assert_close(y.double(), F.silu(gate) * up, rtol=2**-8, atol=1e-3)


@RUNGS
def test_many_rows_without_a_split_or_a_bias(rung: str) -> None:
    chosen = Cut(warps=4, rows=64, splits=1, columns=160, depth=1)
    x, w = (normal(*shape).mul(2).round().half() for shape in ((35, 160), (70, 160)))
    assert torch.equal(launched(rung, chosen, x, w, None, gated=False), F.linear(x.float(), w.float()).half())


# -- the cut -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("m", [1, 8, 31, 32, 64, 128])
def test_a_small_products_weights_are_asked_for_at_once_by_one_block_on_each_multiprocessor(name: str, m: int) -> None:
    n, k = SHAPES[name]
    chosen = cut(m, n, k, multiprocessors=CHIP)
    assert chosen is not None
    assert 0.95 * CHIP < chosen.blocks(n) <= CHIP
    assert chosen.columns * chosen.depth >= chosen.chunk(k)
    assert chosen.rows >= m


@pytest.mark.parametrize("m", [1, 32])
def test_two_products_that_follow_each_other_have_room_on_one_multiprocessor(m: int) -> None:
    needed = [cut(m, n, k, multiprocessors=CHIP).shared(k) + 2048 for n, k in SHAPES.values()]
    assert all(one + next_one <= 228 * 1024 for one, next_one in zip(needed, needed[1:] + needed[:1], strict=True))


@pytest.mark.parametrize("n", [1, 16, 17, 2112, 151_936])
@pytest.mark.parametrize("m", [1, 9, 128])
def test_every_weight_row_and_column_belongs_to_a_block(n: int, m: int) -> None:
    for k in (32, 1024, 1056):
        chosen = cut(m, n, k, multiprocessors=CHIP)
        assert chosen is not None
        assert chosen.blocks(n) // chosen.splits * chosen.tall >= n
        assert chosen.chunk(k) * chosen.splits >= k
        assert chosen.shared(k) <= 227 * 1024


@pytest.mark.parametrize(("m", "n", "k"), [(0, 64, 64), (MOST_ROWS + 1, 64, 64), (1, 64, 48), (128, 4096, 65536)])
def test_what_does_not_fit_has_no_cut(m: int, n: int, k: int) -> None:
    assert cut(m, n, k, multiprocessors=CHIP) is None
