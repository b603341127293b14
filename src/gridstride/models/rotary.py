"""Rotary position tables: the angles by which queries and keys are turned."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gridstride.models.config import DecoderConfig, RotaryScaling

Table = tuple[Tensor, Tensor]
"""Cosines and sines, each [context, head_width / 2] in fp32."""


def tables(config: DecoderConfig) -> dict[str, Table]:
    """That of the decoder, "", of its layers with a window, "window_", and of long sequences, "long_", where others."""
    if config.rotary_base is None:
        return {}
    by_prefix = {"": _table(config, config.rotary_base, config.rotary_scaling)}
    if config.stretched:
        by_prefix["long_"] = _table(config, config.rotary_base, config.rotary_scaling, long=True)
    if config.window is not None and config.window.rotary_base is not None:
        by_prefix["window_"] = _table(config, config.window.rotary_base, None)
    return by_prefix


def _table(config: DecoderConfig, base: float, scaling: RotaryScaling | None, *, long: bool = False) -> Table:
    exponents = torch.arange(0, config.head_width, 2, dtype=torch.int64).float() / config.head_width
    frequencies, factor = 1.0 / base**exponents, 1.0
    if scaling is not None and scaling.kind == "yarn":
        frequencies = _yarn(frequencies, base, scaling)
        factor = scaling.attention_factor
    elif scaling is not None and scaling.kind == "longrope":
        stretch = torch.tensor(scaling.long_factors if long else scaling.short_factors)
        frequencies = 1.0 / (stretch[: len(exponents)] * base**exponents)  # none while a folder is only checked
        factor = scaling.attention_factor
    elif scaling is not None:
        frequencies = _scaled(frequencies, scaling)
    angles = torch.outer(torch.arange(config.context).float(), frequencies)
    return angles.cos() * factor, angles.sin() * factor


def _scaled(frequencies: Tensor, scaling: RotaryScaling) -> Tensor:
    """Llama 3.1's rule: long waves are stretched by the factor, short ones kept, those between blended."""
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    waves = 2 * math.pi / frequencies
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    blend = ((scaling.original_context / waves - low) / (high - low)).clamp(0, 1)
    return (1 - blend) * frequencies / scaling.factor + blend * frequencies


def yarn_attention(factor: float) -> float:
    """What YaRN multiplies cosines and sines with, where nothing else is said (Peng et al. 2023, section 3.4)."""
    return 0.1 * math.log(factor) + 1.0 if factor > 1 else 1.0


def longrope_attention(factor: float, original: int) -> float:
    """What LongRoPE multiplies cosines and sines with, where nothing else is said (Phi-3; Ding et al. 2024)."""
    return math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0


def _yarn(frequencies: Tensor, base: float, scaling: RotaryScaling) -> Tensor:
    """What turns often within the first context is kept, what turns less than once is stretched (section 3.2); those
    between by a ramp over whole dimensions.
    """
    width = 2 * len(frequencies)

    def dimension(turns: float) -> float:
        return width * math.log(scaling.original_context / (2 * math.pi * turns)) / (2 * math.log(base))

    low = max(math.floor(dimension(scaling.beta_fast)), 0)
    high = min(math.ceil(dimension(scaling.beta_slow)), width - 1)
    stretched = ((torch.arange(len(frequencies)) - low) / max(high - low, 1e-3)).clamp(0, 1)
    return frequencies * (1 - stretched) + frequencies / scaling.factor * stretched
