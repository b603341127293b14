"""The middle of a gated feed-forward layer: out = silu(gate) * up, gate and up side by side in one row."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """silu(g) = g / (1 + exp(-g))."""
    gate, up = np.split(v["gate_up"], 2, axis=-1)
    return {"out": gate / (1.0 + np.exp(-gate)) * up}


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
    tiles=(8, 32, 256, 1024),
    observed={"N": 8, "H": 1024},
    timed={"N": 16_384, "H": 8192},
    flops="4*N*H",
    bytes="6*N*H",
    peers={"torch": Peer(torch_silu_mul)},
    aligned="tensors begin at 16-byte boundaries, which the op checks",
)
