"""Matrix product in half precision: C = A B, float16 in and out, added up in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

WAY = 1 << 16  # more than the largest float16
LARGE = 500.0  # a factor beside which the other one of 10^7 is a float16, too


def reference(v: Values) -> dict[str, Array]:
    """C[i][j] = sum over k of A[i][k] B[k][j]."""
    return {"C": v["A"] @ v["B"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The result, rounded once to 16 bits, and before that the random walk of sqrt(K) roundings of a float32 sum.

    In units of the result's own rounding, 2^-11, a rounding of float32 is 2^-13 of the sum of absolute values.
    """
    with np.errstate(invalid="ignore"):
        total = abs(v["A"]) @ abs(v["B"])
        return {"C": abs(reference(v)["C"]) + total * v["A"].shape[1] ** 0.5 * 2.0**-13}


def long_sums(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign: sums of hundreds, which float16 cannot keep adding to."""
    return {"A": abs(v["A"]), "B": abs(v["B"])}


def there_and_back(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign, then as many of the other: on the way the sum is more than float16 holds, in the end not."""
    terms = v["A"].shape[1]
    size = min((8.0 * WAY / max(terms, 1)) ** 0.5, 200.0)
    signs = np.where(np.arange(terms) < terms - terms // 2, 1.0, -1.0)
    first, second = (draw.uniform(0.9, 1.1, v[name].shape) * size for name in ("A", "B"))
    return {"A": first * signs, "B": second}


def past_the_largest(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of A of one sign, whose sums are far above the largest float16, or far below it: Inf, and no other."""
    rows, terms = v["A"].shape
    sums = draw.choice([2e4, -2e4, 1e5, -1e5, 1e7, -1e7], (rows, 1))
    near = {name: draw.uniform(0.9, 1.1, v[name].shape) for name in ("A", "B")}
    return {"A": near["A"] * sums / (LARGE * max(terms, 1)), "B": near["B"] * LARGE}


def cublas(v: Values) -> object:
    """cuBLAS through PyTorch, which adds up in float32 here too."""
    import torch

    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    return torch.mm(v["A"], v["B"], out=v["C"])


problem = Problem(
    name="matmul_half",
    title="Matrix product in half precision, C = A B, float16 with float32 sums",
    parameters=(
        array("A", "float16", "M", "K"),
        array("B", "float16", "K", "N"),
        array("C", "float16", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    exact=True,
    zeros=("K",),
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "products of two numbers near a thousand are infinite in float16",
    },
    public=(
        {"M": 64, "N": 64, "K": 64},
        {"M": 37, "N": 53, "K": 29},
        {"M": 136, "N": 24, "K": 40},
        {"M": 3, "N": 20, "K": 2400},
        {"M": 16, "N": 257, "K": 33},
        {"M": 1, "N": 1, "K": 1},
        # Rows of A that can be read eight at a time where those of B cannot, and the other way round.
        {"M": 127, "N": 65, "K": 64},
        {"M": 137, "N": 8, "K": 1},
    ),
    special={
        "sums of one sign": long_sums,
        "sums past float16 and back": there_and_back,
        "sums past float16": past_the_largest,
    },
    largest={"M": 140, "N": 140, "K": 140},
    widest={"M": 65_000, "N": 70_000, "K": 5_000},
    tiles=(8, 16, 32, 64, 128),
    observed={"M": 256, "N": 256, "K": 256},
    timed={"M": 4096, "N": 4096, "K": 4096},
    flops="2*M*N*K",
    bytes="2*(M*K+K*N+M*N)",
    pieces="M",
    peers={"cuBLAS": Peer(cublas)},
)
