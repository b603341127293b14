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
    """Three values only, one of them mostly, or in all places but one: all keys go where one counter says."""
    values = draw.integers(0, 1 << 32, 3, np.uint64)
    keys = draw.choice(values, v["keys"].shape, p=[0.9, 0.05, 0.05])
    if keys.size and draw.random() < 0.5:
        keys[:] = values[0]
        keys[draw.integers(keys.size)] = values[1]
    return {"keys": keys}


def in_order(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys that are in order, or in the opposite one."""
    keys = np.sort(v["keys"])
    return {"keys": keys if draw.random() < 0.5 else keys[::-1]}


def small_keys(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys up to a power of two that is there itself, most often where a byte begins, or up to any number: who sorts as
    many bits as the largest key has may count one too few.
    """
    return _up_to(v, draw, int(draw.choice([8, 24]) if draw.random() < 0.5 else draw.integers(32)))


def two_bytes(v: Values, draw: Generator) -> dict[str, Any]:
    """The same where 16 bits end: half of the passes are left out for keys that are said to fit them."""
    return _up_to(v, draw, 16)


def _up_to(v: Values, draw: Generator, bits: int) -> dict[str, Any]:
    largest = 1 << bits if draw.random() < 0.7 else int(draw.integers(1 << bits, 2 << bits, dtype=np.uint64))
    keys = draw.integers(0, largest, v["keys"].shape, np.uint64, endpoint=True)
    if keys.size:
        keys[draw.integers(max(1, keys.size // 2))] = largest
    return {"keys": keys}


def one_step(v: Values, draw: Generator) -> dict[str, Any]:
    """Keys in order, but for two neighbours at a multiple of a power of two; or runs in order: who looks for order
    vector by vector, warp by warp or tile by tile sees none of it.
    """
    keys = np.sort(v["keys"])
    if draw.random() < 0.55:
        return {"keys": _with_one_step(keys, draw)}
    run = _run(keys.size, draw)
    full_runs = keys.size // run * run
    keys[:full_runs] = np.sort(v["keys"][:full_runs].reshape(-1, run), axis=1).ravel()
    return {"keys": keys}


def one_step_back(v: Values, draw: Generator) -> dict[str, Any]:
    """The same in the opposite order: who finds keys so may turn them round."""
    return {"keys": _with_one_step(np.sort(v["keys"])[::-1].copy(), draw)}


def _with_one_step(keys: Array, draw: Generator) -> Array:
    run = _run(keys.size, draw)
    if keys.size > run:
        at = run * int(draw.integers(1, max(2, (keys.size - 1) // run + 1)))
        keys[[at - 1, at]] = keys[[at, at - 1]]
    return keys


def _run(n: int, draw: Generator) -> int:
    return 8 << int(draw.integers(max(1, (n // 8).bit_length() - 1)))


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
    special={
        "one digit": one_digit,
        "few values": few_values,
        "in order": in_order,
        "one step in order": one_step,
        "one step in the opposite order": one_step_back,
        "small keys": small_keys,
        "keys of two bytes": two_bytes,
        "ends": ends,
    },
    tiles=(32, 256, 2048, 4096),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="n",
    bytes="36*n",
    peers={"torch.sort": Peer(torch_sort)},
    torch_ops=("aten::sort",),
)
