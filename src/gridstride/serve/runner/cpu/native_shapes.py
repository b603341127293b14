"""Which decoders a step's code can be written for."""

from __future__ import annotations

from math import gcd

import torch

from gridstride.models.config import DecoderConfig
from gridstride.virtual.machine.engine import host

LEAST_LANES = 4
MOST_ROWS = {"float32": 24, "bfloat16": 32, "int8": 64}
"""New tokens of a batch by the weights' type; with more PyTorch's products are as fast."""
DTYPES = (torch.float32, torch.bfloat16)
"""Of embedding, norms and cache."""


def unsupported(config: DecoderConfig, dtype: torch.dtype) -> str:
    """Why a decoder of this shape cannot run here; empty where it can."""
    if config.norm != "rms" or config.activation != "silu_gated" or config.rotary_base is None:
        return f"family {config.family}: the code is for RMS norms, rotary positions and layers gated by silu"
    scales = config.embedding_scale, config.residual_scale, config.logit_divisor, config.scaled_embedding
    norms = config.norm_after, config.norm_around, config.joint_norm, config.unit_offset
    caps = config.attention_cap, config.logit_cap
    if any(norms) or caps != (None,) * 2 or scales != (1.0, 1.0, 1.0, False):
        return f"family {config.family}: the code knows norms ahead of a layer and of heads, and no scales or caps"
    if config.experts is not None:
        return f"family {config.family}: the code is for one MLP in a layer, not for mixtures of experts"
    if config.window is not None and config.window.rotary_base is not None:
        return f"family {config.family}: the code has one base of rotary positions for all layers"
    if dtype not in DTYPES:
        return f"{dtype}: the code is for {', '.join(map(str, DTYPES))}"
    if lanes(config, LEAST_LANES) < LEAST_LANES or config.head_width % (2 * LEAST_LANES):
        sizes = f"hidden_size {config.width}, intermediate_size {config.hidden}, head_dim {config.head_width}"
        return f"{sizes}: the code is for multiples of {LEAST_LANES}, and of {2 * LEAST_LANES} in a head"
    try:
        host()
    except RuntimeError as error:
        return str(error)
    return ""


def lanes(config: DecoderConfig, most: int) -> int:
    """Floats of a vector: all that are walked in vectors have whole ones, the halves of heads in half ones."""
    query = config.heads * config.head_width
    return gcd(most, config.width, config.hidden, query, config.head_width)
