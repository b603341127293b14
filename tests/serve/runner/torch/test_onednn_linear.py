"""Linear layers by oneDNN: the same numbers, names and weights as PyTorch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.runner.torch import onednn_linear

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 40), (2, 40), (33, 40), (2, 3, 40)])
def test_a_product_is_that_of_pytorch(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(*size, generator=generator).to(dtype) for size in (shape, (24, 40), (24,)))
    for added in (None, bias):
        got, wanted = onednn_linear.product(x, weight, added), F.linear(x, weight, added)
        assert got.dtype == dtype
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-4)


def test_a_decoder_keeps_its_weights_and_their_names() -> None:
    torch.manual_seed(0)
    plain, changed = Decoder(CONFIG).eval(), Decoder(CONFIG).eval()
    changed.load_state_dict(plain.state_dict())
    weights = {name: weight.data_ptr() for name, weight in changed.named_parameters()}
    onednn_linear.use(changed)
    assert {name: weight.data_ptr() for name, weight in changed.named_parameters()} == weights
    tokens = torch.arange(20)[None]
    with torch.inference_mode():
        assert torch.allclose(changed(tokens), plain(tokens), atol=1e-5)


def test_without_the_operator_it_is_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> torch.Tensor:
        raise AttributeError("_linear_pointwise")

    monkeypatch.setattr(onednn_linear, "_product", missing)
    onednn_linear.available.cache_clear()
    try:
        assert not onednn_linear.available()
        x, weight = torch.ones(3, 4), torch.eye(4)
        assert torch.equal(onednn_linear.product(x, weight), x)
    finally:
        onednn_linear.available.cache_clear()
