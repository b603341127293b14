"""Which kernel multiplies: what was measured decides, and the answer is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.cut import cut
from gridstride.serve import linear as products

ALWAYS = ((128, 1 << 20, False), (128, 1 << 20, True))
RECORDED = Path(__file__).parents[2] / "bench" / "results" / "skinny_gemm_h200.json"
SHAPES = {"qkv": (4096, 1024), "output": (1024, 2048), "gate_up": (6144, 1024), "gated": (6144, 1024),
          "down": (1024, 3072), "head": (151_936, 1024)}  # fmt: skip
NEAR = 1.05  # of the faster one: as good


def test_an_empty_table_is_cublas_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ())
    assert not any(products.is_faster(m, 64, 64, gated=g) for m in (1, 128) for g in (False, True))


def test_rows_weight_rows_and_gate_must_be_within_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ((64, 100, False), (8, 1000, False), (9, 1000, True)))
    assert products.is_faster(64, 100, 64, gated=False)
    assert products.is_faster(8, 1000, 64, gated=False)
    assert products.is_faster(9, 1000, 64, gated=True)
    assert not products.is_faster(9, 101, 64, gated=False)
    assert not products.is_faster(65, 1, 64, gated=False)


def test_a_larger_matrix_than_was_measured_is_cublas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ALWAYS)
    assert products.is_faster(1, 6144, 1024, gated=False)
    assert not products.is_faster(1, 6144, 1056, gated=False)


@pytest.mark.parametrize("name", json.loads(RECORDED.read_text())["products"])
def test_what_is_chosen_was_the_faster_or_as_good(name: str) -> None:
    """By the cut that the op takes."""
    for m, times in json.loads(RECORDED.read_text())["products"][name].items():
        (n, k), rows = SHAPES[name], int(m)
        own = times.get(cut(rows, n, k, multiprocessors=132).label)
        chosen = own if products.is_faster(rows, n, k, gated=name == "gated") else times["cuBLAS"]
        assert chosen is not None, f"{name} at {m} rows: the op's cut was not timed"
        assert chosen <= NEAR * min(times["cuBLAS"], own or times["cuBLAS"]), f"{name} at {m} rows"


def test_cpu_tensors_are_pytorchs_own_whatever_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ALWAYS)
    x, weight, bias = torch.randn(3, 64), torch.randn(32, 64), torch.randn(32)
    assert torch.equal(products.linear(x, weight, bias), F.linear(x, weight, bias))
    assert torch.equal(products.gated_linear(x, weight, bias), silu_mul(F.linear(x, weight, bias)))


@pytest.mark.gpu
def test_both_ways_agree_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = (torch.randn(*s, device="cuda").bfloat16() for s in ((5, 256), (96, 256), (96,)))
    expected = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    monkeypatch.setattr(products, "FASTER", ALWAYS)
    got = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)
