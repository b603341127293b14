"""Matrix product with factors rounded to tf32 (cvt.rna.tf32: 8 bits of exponent, 11 of value): C = A B^T in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """C[i][j] = sum over k of A[i][k] B[j][k]."""
    return {"C": v["A"] @ v["B"].T}


def magnitude(v: Values) -> dict[str, Array]:
    """What rounding both factors to tf32 does: to the result, and to terms whose roundings are a random walk.

    tf32 has 10 bits behind the point: a rounded factor is off by 2^-11 of itself at most, a product by 2^-10. Where
    terms are no random ones five units of 2^-24 are allowed, so that is a fifth of 2^14 units. Cutting both factors
    off, as tensor cores do with what nobody rounds, is twice as much at worst and hardly more than allowed on average.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        walk = (v["A"] ** 2 @ v["B"].T ** 2) ** 0.5
        return {"C": (abs(reference(v)["C"]) + 2 * walk) * (2.0**14 / 5)}


def long_sums(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign: roundings that point one way add up."""
    return {"A": abs(v["A"]), "B": abs(v["B"])}


def spread(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of A and of B from 1e-15 to 1e15: tf32 has float32's exponents, and halves have not."""
    rows, columns = (10.0 ** draw.uniform(-15, 15, (len(v[name]), 1)) for name in ("A", "B"))
    return {"A": v["A"] * rows, "B": v["B"] * columns}


def cublas(v: Values) -> object:
    """cuBLAS through PyTorch, which may use tf32."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    return torch.mm(v["A"], v["B"].T, out=v["C"])


problem = Problem(
    name="matmul_tf32",
    title="Matrix product with tf32 factors, C = A B^T, float32 in and out",
    parameters=(
        array("A", "float32", "M", "K"),
        array("B", "float32", "N", "K"),
        array("C", "float32", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="1",
    exact=True,
    zeros=("K",),
    public=(
        {"M": 64, "N": 64, "K": 64},
        {"M": 37, "N": 53, "K": 29},
        {"M": 136, "N": 24, "K": 40},
        {"M": 3, "N": 20, "K": 2400},
        {"M": 16, "N": 257, "K": 33},
        {"M": 1, "N": 1, "K": 1},
        # Rows that can be read four at a time, and a C whose rows cannot be written so; and the other way round.
        {"M": 127, "N": 65, "K": 64},
        {"M": 137, "N": 8, "K": 1},
    ),
    special={"sums of one sign": long_sums, "rows of all scales": spread},
    largest={"M": 140, "N": 140, "K": 140},
    widest={"M": 65_000, "N": 70_000, "K": 5_000},
    tiles=(8, 16, 32, 64, 128),
    observed={"M": 256, "N": 256, "K": 256},
    timed={"M": 4096, "N": 4096, "K": 4096},
    flops="2*M*N*K",
    bytes="4*(M*K+N*K+M*N)",
    pieces="M",
    products="tf32",
    peers={"cuBLAS": Peer(cublas)},
)
