"""Which kernel multiplies: what was measured decides, and the answer is the same."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.serve import linear as products


def test_an_empty_table_is_cublas_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ())
    assert not any(products.is_faster(rows, nbytes) for rows in (1, 128) for nbytes in (1, 1 << 30))


def test_rows_and_bytes_must_both_be_within_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ((64, 100), (8, 1000)))
    assert products.is_faster(64, 100)
    assert products.is_faster(8, 1000)
    assert not products.is_faster(9, 101)
    assert not products.is_faster(65, 1)


def test_cpu_tensors_are_pytorchs_own_whatever_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "FASTER", ((128, 1 << 30),))
    x, weight, bias = torch.randn(3, 64), torch.randn(32, 64), torch.randn(32)
    assert torch.equal(products.linear(x, weight, bias), F.linear(x, weight, bias))
    assert torch.equal(products.gated_linear(x, weight, bias), silu_mul(F.linear(x, weight, bias)))


@pytest.mark.gpu
def test_both_ways_agree_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = (torch.randn(*s, device="cuda").bfloat16() for s in ((5, 256), (96, 256), (96,)))
    expected = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    monkeypatch.setattr(products, "FASTER", ((128, 1 << 30),))
    got = products.linear(x, weight, bias), products.gated_linear(x, weight, bias)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)
