"""A layer of a network in one kernel: Y = gelu(X W + b), X of M by K, W of K by N, b of N, float32, row by row.

gelu is the tanh form: gelu(v) = v/2 (1 + tanh(sqrt(2/pi) (v + 0.044715 v³))).
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

SLOPE, CUBIC = np.sqrt(2 / np.pi), 0.044715


def reference(v: Values) -> dict[str, Array]:
    """The formula, in float64."""
    t = v["X"] @ v["W"] + v["b"]
    return {"Y": 0.5 * t * (1 + np.tanh(SLOPE * (t + CUBIC * t**3)))}


def magnitude(v: Values) -> dict[str, Array]:
    """The sum of absolute values before gelu, which nowhere rises by more than 1.13 for 1."""
    return {"Y": 1.13 * (abs(v["X"]) @ abs(v["W"]) + abs(v["b"]))}


def torch_layer(v: Values) -> object:
    """cuBLAS with the bias, then PyTorch's gelu, in full float32 (no tf32)."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    sums = torch.addmm(v["b"], v["X"], v["W"])
    return torch.ops.aten.gelu.out(sums, approximate="tanh", out=v["Y"])


problem = Problem(
    name="linear_gelu",
    title="A layer in one kernel, Y = gelu(X W + b), float32",
    parameters=(
        array("X", "float32", "M", "K"),
        array("W", "float32", "K", "N"),
        array("b", "float32", "N"),
        array("Y", "float32", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="K+2",
    public=(
        {"M": 64, "N": 64, "K": 64},
        {"M": 37, "N": 53, "K": 29},
        {"M": 129, "N": 20, "K": 10},
        {"M": 16, "N": 257, "K": 33},
        {"M": 1, "N": 1, "K": 1},
    ),
    largest={"M": 140, "N": 140, "K": 70},
    widest={"M": 65_000, "N": 70_000, "K": 34_000},
    tiles=(8, 16, 32, 64),
    observed={"M": 256, "N": 256, "K": 256},
    timed={"M": 4096, "N": 4096, "K": 4096},
    flops="2*M*N*K",
    bytes="4*(M*K+K*N+N+M*N)",
    pieces="M",
    peers={"torch.addmm, gelu": Peer(torch_layer)},
)
