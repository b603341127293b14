"""What a decoder costs in arithmetic: the yardstick of MFU."""

from __future__ import annotations

from gridstride.models.config import DecoderConfig


def forward_flops(config: DecoderConfig, keys: float) -> float:
    """Operations for one token's logits, with `keys` positions to look at: 2 for each weight, 4 for each key element.

    Norms, activations and the softmax are left out, as is usual (Kaplan et al. 2020, table 1). A layer with a sliding
    window has at most that many keys to look at.
    """
    looked = config.layers * _keys(config, keys)
    return 2.0 * config.parameters(embedding=False) + 4.0 * config.heads * config.head_width * looked


def _keys(config: DecoderConfig, keys: float) -> float:
    """Of so many keys those that a layer looks at, in the mean of all layers."""
    windows = [config.window_of(layer) for layer in range(config.layers)]
    return sum(keys if window is None else min(keys, window) for window in windows) / config.layers


def train_flops(config: DecoderConfig, length: int, *, causal: bool = False) -> float:
    """Operations for one token of training on sequences of `length`, forward and backward: 6 N + 12 L H D T.

    As PaLM counts (Chowdhery et al. 2022, appendix B), which takes all pairs of positions; `causal` takes only those
    that a decoder looks at, (T + 1) / 2 in the mean. Recomputed activations count for nothing in either.
    """
    return 3.0 * forward_flops(config, (length + 1) / 2 if causal else length)


def mfu(config: DecoderConfig, length: int, tokens_per_second: float, *, peak_flops: float) -> float:
    """Model FLOPs utilisation: the share of `peak_flops` (operations per second) that training makes use of."""
    return train_flops(config, length) * tokens_per_second / peak_flops
