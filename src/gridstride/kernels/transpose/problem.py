"""Transpose: out[j][i] = in[i][j], float32. No arithmetic, so the answer must be right to the bit."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from gridstride.judge.cases.data import any_bits
from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """The same values, turned."""
    return {"out": v["in"].T}


def odd_bits(v: Values, draw: Generator) -> dict[str, Any]:
    """Every pattern of bits: NaNs with payloads, signalling ones too, both zeros, denormals."""
    return {"in": any_bits(v["in"].shape, draw)}


def torch_copy(v: Values) -> object:
    """PyTorch's copy of the turned view."""
    return v["out"].copy_(v["in"].T)


problem = Problem(
    name="transpose",
    title="Transpose, float32",
    parameters=(array("in", "float32", "M", "N"), array("out", "float32", "N", "M", role="out"), size("M"), size("N")),
    reference=reference,
    bitwise=True,
    public=(
        {"M": 64, "N": 64},
        {"M": 96, "N": 40},
        {"M": 61, "N": 131},
        {"M": 129, "N": 3},
        {"M": 1, "N": 1},
        # One side can be moved four elements at a time and the other not; two elements more than whole fours.
        {"M": 64, "N": 135},
        {"M": 1, "N": 64},
        {"M": 1, "N": 82},
        {"M": 34, "N": 67},
    ),
    largest={"M": 150, "N": 150},
    widest={"M": 65_000, "N": 70_000},
    special={"odd bits": odd_bits},
    tiles=(8, 32, 64),
    observed={"M": 256, "N": 256},
    timed={"M": 8192, "N": 8192},
    flops="0",
    bytes="8*M*N",
    pieces="M",
    peers={"torch.copy_": Peer(torch_copy)},
    torch_ops=("aten::copy_",),
)
