"""Rotary position tables: the angles by which queries and keys are turned."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gridstride.models.config import DecoderConfig, RotaryScaling


def tables(config: DecoderConfig) -> tuple[Tensor, Tensor]:
    """Cosines and sines, each [context, head_width / 2] in fp32."""
    assert config.rotary_base is not None
    exponents = torch.arange(0, config.head_width, 2, dtype=torch.int64).float() / config.head_width
    frequencies = 1.0 / config.rotary_base**exponents
    if config.rotary_scaling is not None:
        frequencies = _scaled(frequencies, config.rotary_scaling)
    angles = torch.outer(torch.arange(config.context).float(), frequencies)
    return angles.cos(), angles.sin()


def _scaled(frequencies: Tensor, scaling: RotaryScaling) -> Tensor:
    """Llama 3.1's rule: long waves are stretched by the factor, short ones kept, those between blended."""
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    waves = 2 * math.pi / frequencies
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    blend = ((scaling.original_context / waves - low) / (high - low)).clamp(0, 1)
    return (1 - blend) * frequencies / scaling.factor + blend * frequencies
