"""Sliding windows and caps of scores, in whole rows and in rows of several sequences."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gridstride.models import ops
from gridstride.models.config import DecoderConfig, SlidingWindow
from gridstride.models.decoder import Decoder, packed

LENGTH, HEADS, KEY_HEADS, WIDTH = 13, 4, 2, 8
CONFIG = DecoderConfig(
    vocabulary=61, width=32, layers=3, heads=HEADS, kv_heads=KEY_HEADS, head_width=WIDTH, hidden=48, context=64,
    window=SlidingWindow(size=4, full=(1,), rotary_base=1e3), attention_cap=3.0,
)  # fmt: skip


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return tuple(torch.randn(2, LENGTH, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS))  # type: ignore[return-value]


def one_by_one(q: Tensor, k: Tensor, v: Tensor, window: int | None, cap: float | None) -> Tensor:
    """Query by query, in float64."""
    out = torch.zeros(q.shape, dtype=torch.float64)
    for b, t, h in torch.cartesian_prod(*(torch.arange(size) for size in q.shape[:3])).tolist():
        first = 0 if window is None else max(t + 1 - window, 0)
        keys, values = (each[b, first : t + 1, h // (HEADS // KEY_HEADS)].double() for each in (k, v))
        scores = keys @ q[b, t, h].double() / WIDTH**0.5
        scores = scores if cap is None else cap * torch.tanh(scores / cap)
        out[b, t, h] = scores.softmax(-1) @ values
    return out


@pytest.mark.parametrize("cap", [None, 0.7])
@pytest.mark.parametrize("window", [None, 1, 5, LENGTH - 1, LENGTH, 99])
def test_a_token_sees_the_last_positions_of_its_window(window: int | None, cap: float | None) -> None:
    q, k, v = drawn()
    found = ops.causal_attention(q, k, v, window=window, cap=cap)
    torch.testing.assert_close(found.double(), one_by_one(q, k, v, window, cap), atol=1e-5, rtol=1e-5)


def test_sequences_side_by_side_are_what_each_is_alone() -> None:
    torch.manual_seed(1)
    decoder = Decoder(CONFIG).eval()
    lengths, tokens = (9, 3, 7), torch.randint(61, (1, 19))
    segments = torch.repeat_interleave(torch.arange(3), torch.tensor(lengths))[None]
    positions = torch.cat([torch.arange(length) for length in lengths])[None]
    with torch.no_grad():
        together = decoder(tokens, positions, packed(segments))
        alone = torch.cat([decoder(part) for part in tokens.split(lengths, dim=1)], dim=1)
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_a_window_as_long_as_the_context_is_none() -> None:
    config = replace(CONFIG, window=SlidingWindow(size=64))
    assert [config.window_of(layer) for layer in range(3)] == [None] * 3
    assert [CONFIG.window_of(layer) for layer in range(3)] == [4, None, 4]


def test_layers_with_a_window_turn_by_a_base_of_their_own() -> None:
    tables = dict(Decoder(CONFIG).named_buffers())
    assert not torch.equal(tables["window_cos"], tables["cos"])
    assert torch.equal(tables["window_cos"], Decoder(replace(CONFIG, rotary_base=1e3)).cos)


def test_caps_of_logits_hold() -> None:
    decoder = Decoder(replace(CONFIG, logit_cap=0.2))
    with torch.no_grad():
        plain = decoder.lm_head(decoder(torch.arange(12)[None]))
        found = decoder.logits(decoder(torch.arange(12)[None]))
    torch.testing.assert_close(found, 0.2 * torch.tanh(plain / 0.2))


def test_a_scaled_embedding_takes_its_factor_in_the_type_of_the_weights() -> None:
    """sqrt(32) is 5.657; bf16 has 5.65625, by which Gemma was trained."""
    decoder = Decoder(replace(CONFIG, scaled_embedding=True)).to(torch.bfloat16)
    ids = torch.arange(61)
    expected = decoder.embed_tokens(ids) * torch.tensor(32**0.5, dtype=torch.bfloat16)
    assert torch.equal(decoder._embedded(ids), expected)
