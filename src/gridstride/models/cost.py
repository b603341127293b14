"""What a decoder costs: arithmetic for training, bytes for decoding; the yardsticks of MFU and of the memory roof."""

from __future__ import annotations

from collections.abc import Iterable

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


def cache_bytes_per_token(config: DecoderConfig, element_bytes: int) -> int:
    """Bytes that keys and values of one token take."""
    return 2 * config.layers * config.kv_heads * config.head_width * element_bytes


def decode_bytes(
    config: DecoderConfig, lengths: Iterable[int], *, weight_bytes: int = 2, cache_bytes: int = 2
) -> float:
    """Bytes a decode step must move: each weight once, and keys and values of sequences of `lengths` tokens.

    Of the embedding only one row for each sequence is read; where it is tied it is read whole as the head. Of a mixture
    as many experts are read as these tokens can be sent to at most.
    """
    lengths = tuple(lengths)
    mixture = config.experts
    experts = None if mixture is None else min(mixture.count, mixture.per_token * len(lengths))
    weights = config.parameters(embedding=False, experts=experts) + len(lengths) * config.width
    written = len(lengths)  # the new token's own
    cached = (sum(_keys(config, length) for length in lengths) + written) * cache_bytes_per_token(config, cache_bytes)
    return float(weights * weight_bytes + cached)
