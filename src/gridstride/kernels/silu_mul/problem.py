"""The middle of a gated feed-forward layer: out = silu(gate) * up, gate and up side by side in one row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """silu(g) = g / (1 + exp(-g))."""
    gate, up = np.split(v["gate_up"], 2, axis=-1)
    return {"out": gate / (1.0 + np.exp(-gate)) * up}


def steep(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose exponential is 0 or infinite in float32 and in float16, and infinite gates on the right."""
    gate, up = np.split(v["gate_up"].astype(np.float64), 2, axis=-1)
    gates = draw.choice([-60_000.0, -1000.0, -104.0, -90.0, -20.0, -12.0, 12.0, 90.0, 60_000.0, np.inf], gate.shape)
    return {"gate_up": np.concatenate((gates, up), axis=-1)}


def flat(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose SiLU is far below 1 and no denormal of float16, with factors of hundreds: who takes one number near 1
    from another on the way there has lost what is multiplied.
    """
    shape = np.split(v["gate_up"], 2, axis=-1)[0].shape
    return {"gate_up": np.concatenate((draw.uniform(-18.0, -8.0, shape), draw.uniform(500.0, 2000.0, shape)), axis=-1)}


def bad_factors(v: Values, draw: Generator) -> dict[str, Any]:
    """Gates whose SiLU is 0, some of them beside a factor that is NaN: 0 times NaN is NaN."""
    shape = np.split(v["gate_up"], 2, axis=-1)[0].shape
    factors = np.where(draw.random(shape) < 0.1, np.nan, draw.uniform(-2.0, 2.0, shape))
    return {"gate_up": np.concatenate((draw.uniform(-300.0, -40.0, shape), factors), axis=-1)}


def torch_silu_mul(v: Values) -> object:
    """PyTorch's two calls."""
    import torch.nn.functional as F

    gate, up = v["gate_up"].chunk(2, dim=-1)
    return v["out"].copy_(F.silu(gate) * up)


problem = Problem(
    name="silu_mul",
    title="Gated SiLU, silu(gate) * up, float16",
    parameters=(
        array("gate_up", "float16", "N", "2*H"),
        array("out", "float16", "N", "H", role="out"),
        size("N"),
        size("H"),
    ),
    reference=reference,
    terms="2",
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "products of two numbers near a thousand are infinite in float16",
        "nonfinite": "silu(-Inf) is 0 in the limit and NaN in arithmetic",
    },
    public=({"N": 3, "H": 512}, {"N": 4, "H": 48}, {"N": 2, "H": 301}, {"N": 1, "H": 1}),
    largest={"N": 5, "H": 2500},
    widest={"N": 65_000, "H": 70_000},
    special={"steep gates": steep, "flat gates": flat, "bad factors": bad_factors},
    tiles=(8, 32, 256, 1024),
    observed={"N": 8, "H": 1024},
    timed={"N": 16_384, "H": 8192},
    flops="4*N*H",
    bytes="6*N*H",
    peers={"torch": Peer(torch_silu_mul)},
    alignment=16,  # the op checks it
)
