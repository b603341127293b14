"""Matrix product of 8-bit floats: C[i][j] = scale_a[i] scale_b[j] sum over k of A[i][k] B[j][k].

A and B hold e4m3 codes, one a byte, both with K contiguous; the sums are float32, C is 16-bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def _values() -> Array:
    """What each of the 256 codes of e4m3 is: a sign, 4 bits of exponent, bias 7, and 3 of fraction; no infinities."""
    code = np.arange(128)
    exponent, fraction = code >> 3, code & 7
    value = np.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent - 7))
    value[127] = np.nan
    return np.concatenate((value, -value))


VALUES = _values()
NAN = 127
LARGEST = 448.0


def encode(x: Array) -> Array:
    """The codes of the nearest values; LARGEST of what is larger."""
    size, finite = abs(x), VALUES[:NAN]
    nearest = np.searchsorted((finite[1:] + finite[:-1]) / 2, size)
    return (nearest + 128 * np.signbit(x)).astype(np.uint8)


def reference(v: Values) -> dict[str, Array]:
    """C[i][j] = scale_a[i] scale_b[j] (sum over k of A[i][k] B[j][k])."""
    return {"C": (VALUES[v["A"]] @ VALUES[v["B"]].T) * (v["scale_a"][:, None] * v["scale_b"])}


def magnitude(v: Values) -> dict[str, Array]:
    """Twice the result and twice the random walk of its terms.

    Hopper's wgmma keeps 13 bits behind the point of 8-bit products and of their sum, and cuts off the rest. Added up in
    float32 every 128 of K, terms of one sign lose up to 0.6 % of their sum: 12 roundings of 2^-11. Of terms of both
    signs the losses are a random walk, as the sum is itself.
    """
    with np.errstate(invalid="ignore"):
        total = abs(VALUES[v["A"]]) @ abs(VALUES[v["B"]]).T * abs(v["scale_a"][:, None] * v["scale_b"])
        return {"C": 2 * (abs(reference(v)["C"]) + total / max(1, v["A"].shape[1]) ** 0.5)}


def arrange(v: Values) -> dict[str, Any]:
    """Bytes as drawn are of all sizes, and one of 128 is NaN: they become values between -2 and 2."""
    return {name: encode((v[name] - 127.5) / 64) for name in ("A", "B")}


def long_sums(v: Values, draw: Generator) -> dict[str, Any]:
    """Terms of one sign: sums of thousands, to which 14 bits can no longer add 1."""
    return {name: v[name] & 127 for name in ("A", "B")}


def any_values(v: Values, draw: Generator) -> dict[str, Any]:
    """Every code but NaN, the largest and the denormal ones among them."""
    codes = {name: draw.integers(0, 256, v[name].shape, np.uint8) for name in ("A", "B")}
    replaced = {name: np.where(code & 127 == NAN, code - 1, code) for name, code in codes.items()}
    return replaced | {"scale_a": v["scale_a"] * np.float32(2.0**-12)}


def denormal_values(v: Values, draw: Generator) -> dict[str, Any]:
    """The codes up to twice the smallest normal value: who takes exponent 0 for a power of two, or for 0, fails."""
    codes = {name: draw.integers(0, 16, v[name].shape, np.uint8) + (v[name] & 128) for name in ("A", "B")}
    return codes | {"scale_a": v["scale_a"] * np.float32(2.0**12)}


def not_numbers(v: Values, draw: Generator) -> dict[str, Any]:
    """A NaN in some rows of A and of B, which is all of those rows of C and of those columns."""
    changed = {name: np.array(v[name]) for name in ("A", "B")}
    for codes in changed.values():
        rows = np.flatnonzero(draw.random(len(codes)) < (0.1 if codes.size else 0.0))
        columns = draw.integers(max(1, codes.shape[1]), size=rows.size)
        codes[rows, columns] = NAN + 128 * draw.integers(2, size=rows.size)
    return changed


def past_the_largest(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of A of one sign, whose sums are far above the largest float16, or far below it: Inf, and no other."""
    rows, terms = v["A"].shape
    codes = {name: encode(draw.choice([0.875, 1.0, 1.125], v[name].shape)) for name in ("A", "B")}
    sums = draw.choice([2e4, -2e4, 1e5, -1e5, 1e9, -1e9], rows)
    return {**codes, "scale_a": sums / max(terms, 1), "scale_b": draw.uniform(0.9, 1.1, len(v["B"]))}


def far_scales(v: Values, draw: Generator) -> dict[str, Any]:
    """Scales of all sizes that float32 has, whose products are as drawn: a scale in fewer bits is 0, or infinite."""
    size = 2.0 ** float(draw.choice([-90, -40, -20, 20, 40, 90]))
    return {"scale_a": v["scale_a"] * size, "scale_b": v["scale_b"] / size}


def scaled_mm(*, fast: bool) -> Peer:
    """cuBLAS or CUTLASS through PyTorch, whose product with a scale for each row gives bfloat16."""

    def call(v: Values) -> object:
        import torch

        a, b = (v[name].view(torch.float8_e4m3fn) for name in ("A", "B"))
        return torch._scaled_mm(
            a, b.T, v["scale_a"][:, None], v["scale_b"][None], out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    return Peer(call)


problem = Problem(
    name="matmul_fp8",
    title="Matrix product of 8-bit floats, C = scale_a scale_b (A B^T), e4m3 with float32 sums",
    parameters=(
        array("A", "uint8", "M", "K"),
        array("B", "uint8", "N", "K"),
        array("scale_a", "float32", "M"),
        array("scale_b", "float32", "N"),
        array("C", "float16", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    arrange=arrange,
    without={
        "spikes": "a product of a million is infinite in float16",
        "cancellation": "products of two scales near a thousand are infinite in float16",
        "nonfinite": "an infinite scale asks for the sign of a sum, which is lost in the last bits where it is small",
    },
    public=(
        {"M": 64, "N": 64, "K": 128},
        {"M": 37, "N": 53, "K": 29},
        {"M": 136, "N": 24, "K": 144},
        {"M": 3, "N": 20, "K": 2400},
        {"M": 16, "N": 257, "K": 33},
        {"M": 1, "N": 1, "K": 1},
        # Rows that can be read sixteen bytes at a time, a C whose rows cannot be written so, and sums of some length.
        {"M": 130, "N": 20, "K": 784},
        {"M": 137, "N": 8, "K": 1},
    ),
    special={
        "sums of one sign": long_sums,
        "any values": any_values,
        "denormal values": denormal_values,
        "NaN values": not_numbers,
        "sums past float16": past_the_largest,
        "scales of all sizes": far_scales,
    },
    zeros=("K",),
    largest={"M": 140, "N": 140, "K": 300},
    widest={"M": 65_000, "N": 70_000, "K": 5_000},
    tiles=(8, 16, 32, 64, 128),
    observed={"M": 256, "N": 256, "K": 256},
    timed={"M": 4096, "N": 4096, "K": 4096},
    flops="2*M*N*K",
    bytes="K*(M+N)+4*(M+N)+2*M*N",
    pieces="M",
    products="e4m3",
    peers={"torch._scaled_mm": scaled_mm(fast=False), "torch._scaled_mm fast": scaled_mm(fast=True)},
)
