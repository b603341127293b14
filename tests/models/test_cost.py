"""Costs against what torch counts and what the files hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gridstride.models import cost
from gridstride.models.config import DecoderConfig, ExpertsConfig, SlidingWindow
from gridstride.models.decoder import Decoder

SIZES = {"vocabulary": 61, "width": 32, "layers": 3, "heads": 4, "kv_heads": 2, "head_width": 8, "hidden": 48}
LLAMA = DecoderConfig(**SIZES, context=64)
GPT2 = DecoderConfig(**SIZES | {"kv_heads": 4}, context=64, rotary_base=None, activation="gelu_tanh", tied=True)


EXPERTS = ExpertsConfig(count=5, per_token=2, hidden=20, normed=True, dense=(1,))
MIXTRAL = DecoderConfig(**SIZES, context=64, experts=EXPERTS)
GEMMA = DecoderConfig(**SIZES, context=64, activation="gelu_tanh_gated", attention_cap=5.0)


@pytest.mark.parametrize("config", [LLAMA, GPT2, MIXTRAL, GEMMA])
def test_all_matrices_are_counted(config: DecoderConfig) -> None:
    decoder = Decoder(config)
    assert config.parameters() == sum(p.numel() for p in decoder.parameters() if p.dim() > 1)


@pytest.mark.parametrize("config", [LLAMA, GPT2, MIXTRAL, GEMMA])
def test_forward_counts_what_torch_counts(config: DecoderConfig) -> None:
    decoder = Decoder(config)
    tokens = torch.zeros((2, 24), dtype=torch.long)
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        decoder.logits(decoder(tokens))
    assert cost.forward_flops(config, 24) * tokens.numel() == counter.get_total_flops()


def test_a_window_limits_the_keys_that_its_layers_look_at() -> None:
    config = replace(LLAMA, window=SlidingWindow(size=8, full=(1,)))
    more = cost.forward_flops(config, 24) - cost.forward_flops(config, 0)
    assert more == 4 * 4 * 8 * (8 + 24 + 8)


def test_training_is_three_forwards() -> None:
    assert cost.train_flops(LLAMA, 24) == 3 * cost.forward_flops(LLAMA, 24)


def test_causal_attention_looks_at_half() -> None:
    weights = 6 * LLAMA.parameters(embedding=False)
    half, whole = (cost.train_flops(LLAMA, 999, causal=causal) - weights for causal in (True, False))
    assert half / whole == pytest.approx(0.5, rel=0.01)


def test_mfu_is_a_share_of_the_peak() -> None:
    assert cost.mfu(LLAMA, 24, 1000.0, peak_flops=2000 * cost.train_flops(LLAMA, 24)) == pytest.approx(0.5)
