"""The norms of decoders against PyTorch's own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from gridstride.models.norms import LayerNorm, OffsetRMSNorm, RMSNorm  # noqa: E402

X = torch.randn(3, 16, generator=torch.Generator().manual_seed(1))


def test_rms() -> None:
    norm = RMSNorm(16, 1e-5)
    torch.nn.init.uniform_(norm.weight)
    torch.testing.assert_close(norm(X), F.rms_norm(X, (16,), norm.weight, 1e-5))


def test_weights_around_0_are_those_around_1_less_one() -> None:
    norm = OffsetRMSNorm(16, 1e-6)
    torch.testing.assert_close(norm(X), F.rms_norm(X, (16,), None, 1e-6))
    torch.nn.init.uniform_(norm.weight)
    torch.testing.assert_close(norm(X), F.rms_norm(X, (16,), 1 + norm.weight, 1e-6))


def test_layer() -> None:
    norm = LayerNorm(16, 1e-5)
    torch.nn.init.uniform_(norm.bias)
    torch.testing.assert_close(norm(X), F.layer_norm(X, (16,), norm.weight, norm.bias, 1e-5))
