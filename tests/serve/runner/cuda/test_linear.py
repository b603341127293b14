"""Which kernel multiplies: what was measured decides, and the answer is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.cut import RULES, cut
from gridstride.serve.runner.cuda import linear as products

RECORDED = json.loads((Path(__file__).parents[4] / "bench" / "results" / "skinny_gemm_h200.json").read_text())
LAYER = {"qkv": (4096, 1024), "output": (1024, 2048), "gated": (6144, 1024), "down": (1024, 3072)}
HEAD = 151_936, 1024
NEAR = 1.05  # of the faster one: as good


# -- what was measured -------------------------------------------------------------------------------------------------
def test_the_op_multiplies_up_to_32_rows_by_no_larger_a_matrix_than_was_measured() -> None:
    assert all(products.is_faster(m, *shape) for m in (1, 32) for shape in LAYER.values())
    assert not products.is_faster(33, *LAYER["output"])
    assert not products.is_faster(1, 6144, 1056)
    assert not products.is_faster(1, *HEAD)


def test_a_decode_step_with_all_products_by_the_op_was_the_fastest() -> None:
    steps = {name: step["step_ms"] for name, step in RECORDED["decode"].items()}
    assert min(steps, key=steps.__getitem__) != "cuBLAS"
    assert steps.get("served", steps["best rule, always"]) <= NEAR * min(steps.values()) <= 0.8 * steps["cuBLAS"]


@pytest.mark.parametrize("m", RECORDED["rules"])
def test_chains_of_products_by_the_ops_rule_were_faster_than_cublas(m: str) -> None:
    """Where those were not timed, eight warps for every product."""
    rule = next(rule for most, rule in RULES if int(m) <= most)
    times = RECORDED["rules"][m]
    label = f"{rule.rung[:2]} tall {rule.tall} slots {rule.slots} share {rule.share}"
    chained = times.get(f"{label} warps 4/8", times[label])
    assert chained <= NEAR * min(times.values())
    assert chained < 0.8 * RECORDED["chains"][m]["cuBLAS"]


@pytest.mark.parametrize("m", [1, 8, 16, 32])
@pytest.mark.parametrize("name", LAYER)
def test_each_product_by_itself_was_as_fast_as_cublas(name: str, m: int) -> None:
    label = cut(m, *LAYER[name], multiprocessors=132).label
    by_rows = RECORDED["products"][name]
    timed = min(int(rows) for rows in by_rows if int(rows) >= m and label in by_rows[rows])  # fewer take no longer
    assert timed <= max(m, 8)
    assert by_rows[str(timed)][label] <= NEAR * by_rows[str(m)]["cuBLAS"]


def test_cublas_read_the_head_faster() -> None:
    for times in RECORDED["products"]["head"].values():
        assert times["cuBLAS"] == min(times.values())


# -- who multiplies ----------------------------------------------------------------------------------------------------
def test_cpu_tensors_are_pytorchs_own() -> None:
    x, weight, bias = torch.randn(3, 64), torch.randn(32, 64), torch.randn(32)
    assert torch.equal(products.linear(x, weight, bias), F.linear(x, weight, bias))
    assert torch.equal(products.gated_linear(x, weight, bias), silu_mul(F.linear(x, weight, bias)))


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "k"), [(5, 256), (17, 96), (32, 100), (8, 65_536)])
def test_both_ways_agree_on_a_gpu(monkeypatch: pytest.MonkeyPatch, m: int, k: int) -> None:
    x, weight, bias = (torch.randn(*s, device="cuda").bfloat16() for s in ((m, k), (96, k), (96,)))
    weight *= k**-0.5
    got = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    monkeypatch.setattr(products, "MOST_ROWS", 0)
    expected = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)
