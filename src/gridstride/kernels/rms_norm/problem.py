"""RMS norm behind the addition to the residual stream: residual += delta; out = residual / rms(residual) * weight.

Sums of residual and delta are finite in float16; what the norm makes of them need not be. The rms of a row is the root
of its mean square plus eps. eps is from 1e-12 to 0.1, and rows may be so small that it is
all there is, or that nothing but it keeps a row of zeros from being divided by zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself; eps keeps a row of zeros from dividing by zero."""
    x = v["residual"] + v["delta"]
    return {"residual": x, "out": x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + v["eps"]) * v["weight"]}


def magnitude(v: Values) -> dict[str, Array]:
    """|residual| + |delta|, and the same through the norm."""
    x = abs(v["residual"]) + abs(v["delta"])
    real = v["residual"] + v["delta"]
    scale = np.sqrt(np.mean(real * real, axis=-1, keepdims=True) + v["eps"])
    return {"residual": x, "out": x / scale * abs(v["weight"])}


EPSILONS = (1e-5, 1e-6, 1e-12, 1e-3, 0.1)  # the first two are what models use


def arrange(v: Values) -> dict[str, Any]:
    """An eps of those, as the number drawn for it says."""
    return {"eps": EPSILONS[int(abs(v["eps"]) * 1e4) % len(EPSILONS)]}


def small_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of zeros and rows in which eps counts as much as the mean square."""
    scale = draw.choice([0.0, 1e-3, 1e-2], (len(v["residual"]), 1))
    return {"residual": v["residual"] * scale, "delta": v["delta"] * scale, "eps": float(draw.choice(EPSILONS[:2]))}


def denormal_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of denormals with an eps that is smaller yet."""
    return {"residual": v["residual"] * 1e-5, "delta": v["delta"] * 1e-5, "eps": min(EPSILONS)}


def large_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose squares are infinite in float16."""
    return {"residual": v["residual"] * 400, "delta": v["delta"] * 400}


def past_the_largest(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of few ones, which the norm makes larger, times weights next to the largest float16: Inf above it."""
    ones = draw.choice([-1.0, 1.0], v["residual"].shape) * (draw.random(v["residual"].shape) < 1 / 16)
    weight = draw.choice([1e3, -1e3, 6e4, -6e4], v["weight"].shape)
    return {"residual": ones, "delta": np.zeros_like(v["delta"]), "weight": weight, "eps": 1e-5}


def torch_add_and_norm(v: Values) -> object:
    """PyTorch's addition and its fused norm."""
    import torch.nn.functional as F

    v["residual"].add_(v["delta"])
    return v["out"].copy_(F.rms_norm(v["residual"], (v["residual"].shape[-1],), v["weight"], v["eps"]))


problem = Problem(
    name="rms_norm",
    title="Residual addition and RMS norm, float16",
    parameters=(
        array("residual", "float16", "N", "W", role="inout"),
        array("delta", "float16", "N", "W"),
        array("weight", "float16", "W"),
        array("out", "float16", "N", "W", role="out"),
        size("N"),
        size("W"),
        scalar("eps"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    without={
        "spikes": "a million is infinite in float16",
        "nonfinite": "one Inf makes its row NaN, and NaN times the scale of the others says nothing",
    },
    arrange=arrange,
    public=({"N": 3, "W": 1024}, {"N": 5, "W": 128}, {"N": 2, "W": 1000}, {"N": 2, "W": 75}, {"N": 1, "W": 1}),
    largest={"N": 5, "W": 5000},
    widest={"N": 66_000, "W": 70_000},
    special={
        "small rows": small_rows,
        "denormal rows": denormal_rows,
        "large rows": large_rows,
        "past float16": past_the_largest,
    },
    tiles=(32, 128, 1024, 4096),
    observed={"N": 8, "W": 1024},
    timed={"N": 65_536, "W": 4096},
    flops="5*N*W",
    bytes="8*N*W",
    peers={"torch": Peer(torch_add_and_norm)},
    alignment=16,  # the last rung asks, since the op takes any tensor; the others need not
)
