"""Array of structures to structure of arrays: fields[f][i] = records[i][f] for records of eight float32 fields. No
arithmetic, so the answer must be right to the bit.
"""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from gridstride.judge.cases.data import any_bits
from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """The same values, each field's side by side."""
    return {"fields": v["records"].T}


def odd_bits(v: Values, draw: Generator) -> dict[str, Any]:
    """Every pattern of bits: both zeros, NaNs with payloads, signalling ones too, infinities, denormals."""
    return {"records": any_bits(v["records"].shape, draw)}


def torch_copy(v: Values) -> object:
    """PyTorch's copy of the turned view."""
    return v["fields"].copy_(v["records"].T)


problem = Problem(
    name="aos_to_soa",
    title="Array of structures to structure of arrays, eight float32 fields",
    parameters=(
        array("records", "float32", "n", "8"),
        array("fields", "float32", "8", "n", role="out"),
        size("n"),
    ),
    reference=reference,
    bitwise=True,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 2055}, {"n": 1}),
    largest={"n": 5000},
    widest={"n": 300_000},
    special={"odd bits": odd_bits},
    tiles=(32, 128, 256),
    observed={"n": 1 << 14},
    timed={"n": 1 << 24},
    flops="0",
    bytes="64*n",
    pieces="n",
    peers={"torch.copy_": Peer(torch_copy)},
)
