"""Sort of 32-bit keys: `ordered` holds the keys from the smallest to the largest, as numbers without a sign.

`scratch` is memory for the kernel's own use, whose contents at the start nobody knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """NumPy's sort."""
    return {"ordered": np.sort(v["keys"])}


def one_digit(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys that differ in one of their four bytes, each of its values many times."""
    shift = 8 * int(draw.integers(4))
    digits = draw.integers(0, 256, v["keys"].shape, np.uint64) << shift
    return {"keys": (digits | draw.integers(1 << 32, dtype=np.uint64) & ~np.uint64(255 << shift)) & 0xFFFFFFFF}


def few_values(v: Values, draw: Generator) -> dict[str, Any]:
    """Three values only, one of them mostly: all keys go where one counter says."""
    values = draw.integers(0, 1 << 32, 3, np.uint64)
    return {"keys": draw.choice(values, v["keys"].shape, p=[0.9, 0.05, 0.05])}


def in_order(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys that are in order, or in the opposite one."""
    keys = np.sort(v["keys"])
    return {"keys": keys if draw.random() < 0.5 else keys[::-1]}


def ends(v: Values, draw: Generator) -> dict[str, Any]:
    """The smallest and the largest keys, and those next to the sign bit."""
    named = np.array([0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1], np.uint64)
    return {"keys": draw.choice(named, v["keys"].shape)}


def torch_sort(v: Values) -> object:
    """PyTorch's sort of the same keys with the sign bit turned, which it has no unsigned ones for."""
    import torch

    turned = v["keys"].view(torch.int32) ^ -(1 << 31)
    return v["ordered"].view(torch.int32).copy_(turned.sort().values ^ -(1 << 31))


problem = Problem(
    name="radix_sort",
    title="Sort of 32-bit keys",
    parameters=(
        array("keys", "uint32", "n"),
        array("ordered", "uint32", "n", role="out"),
        array("scratch", "uint32", "2*n+8192", role="scratch"),
        size("n"),
    ),
    reference=reference,
    zeros=("n",),
    public=({"n": 4096}, {"n": 1000}, {"n": 9001}, {"n": 1}),
    largest={"n": 12_000},
    widest={"n": 100_000},
    special={"one digit": one_digit, "few values": few_values, "in order": in_order, "ends": ends},
    tiles=(32, 256, 2048, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="n",
    bytes="36*n",
    peers={"torch.sort": Peer(torch_sort)},
    torch_ops=("aten::sort",),
)
