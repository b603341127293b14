"""Histogram: counts[floor(32 x) + 128] += 1 for float32 x from -4 to 4, 256 bins of 1/32; others are not counted.

A product with a power of two is exact, and so is its floor: every x has one bin, whatever the precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

BINS = 256
LOW, HIGH = -4.0, 4.0
WIDTH = (HIGH - LOW) / BINS


def reference(v: Values) -> dict[str, Array]:
    """How many elements lie in each bin, added to what was there; counts are 32 bits wide and wrap around."""
    x = v["x"]
    inside = x[(x >= LOW) & (x < HIGH)]  # a NaN is neither
    bins = np.floor(inside / WIDTH).astype(np.int64) + BINS // 2  # inside + 4 would round what is small
    counts = np.bincount(bins, minlength=BINS)
    return {"counts": (np.asarray(v["counts"], np.int64) + counts).astype(np.int32)}


def one_bin(v: Values, draw: Generator) -> dict[str, Any]:
    """All elements in one bin, one of the first or the last among others: every addition at one address."""
    bin_ = draw.choice([0, BINS - 1, int(draw.integers(BINS))])
    return {"x": LOW + (bin_ + draw.random(v["x"].shape)) * WIDTH * 0.999}


def few_bins(v: Values, draw: Generator) -> dict[str, Any]:
    """Nearly all elements in four bins, the others anywhere: runs of equal bins, as pictures and sorted data have."""
    chosen = draw.integers(0, BINS, 4)[np.sort(draw.integers(0, 4, v["x"].shape))]
    bins = np.where(draw.random(v["x"].shape) < 0.95, chosen, draw.integers(0, BINS, v["x"].shape))
    return {"x": LOW + (bins + 0.5) * WIDTH}


def all_bins(v: Values, draw: Generator) -> dict[str, Any]:
    """Uniform over all bins, and a little beyond both ends."""
    return {"x": draw.uniform(LOW - 0.1, HIGH + 0.1, v["x"].shape)}


def edges(v: Values, draw: Generator) -> dict[str, Any]:
    """Edges of bins and the floats next to them, both zeros, the smallest numbers of both signs; both ends often."""
    steps = np.where(draw.random(v["x"].shape) < 0.5, draw.integers(0, BINS + 1, v["x"].shape), BINS)
    edge = (LOW + np.where(draw.random(v["x"].shape) < 0.5, steps, BINS - steps) * WIDTH).astype(np.float32)
    direction = draw.choice(np.array([-np.inf, np.inf], np.float32), v["x"].shape)
    near = np.where(draw.random(v["x"].shape) < 0.5, edge, np.nextafter(edge, direction))
    return {"x": np.where((near == 0) & (draw.random(v["x"].shape) < 0.5), np.float32(-0.0), near)}


def far_out(v: Values, draw: Generator) -> dict[str, Any]:
    """Mostly what is not counted: huge, infinite, NaN, and numbers that do not fit an int once they are multiplied."""
    named = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 2.0**26, -(2.0**26), 1e9, -1e9, 4.0, -4.03, 0.5])
    return {"x": draw.choice(named, v["x"].shape)}


def empty_yet(v: Values, draw: Generator) -> dict[str, Any]:
    """Counts of zero, as most callers have them."""
    return {"counts": np.zeros(BINS, np.int32)}


def torch_histc(v: Values) -> object:
    """PyTorch's histogram, added to the counts; it counts 4.0 in the last bin."""
    import torch

    return v["counts"].add_(torch.histc(v["x"], BINS, LOW, HIGH).to(torch.int32))


def torch_bincount(v: Values) -> object:
    """PyTorch's count of whole numbers, of the bins' numbers."""
    import torch

    x = v["x"]
    inside = x[(x >= LOW) & (x < HIGH)]
    return v["counts"].add_(torch.bincount((inside * (1 / WIDTH)).floor().int() + BINS // 2, minlength=BINS))


problem = Problem(
    name="histogram",
    title="Histogram of 256 bins, float32",
    parameters=(array("x", "float32", "n"), array("counts", "int32", "256", role="inout"), size("n")),
    reference=reference,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 16_411}, {"n": 1}),
    largest={"n": 140_000},  # in one bin, with two blocks: more than 16 bits hold
    widest={"n": 3_000_000},
    special={
        "one bin": one_bin,
        "few bins": few_bins,
        "all bins": all_bins,
        "edges": edges,
        "far out": far_out,
        "counts = 0": empty_yet,
    },
    wide_data=("normal", "one bin"),  # what a block or a lane counts by itself is most then
    tiles=(32, 256, 4096, 8192),
    observed={"n": 1 << 24},
    timed={"n": 1 << 28},
    flops="n",
    bytes="4*n",
    pieces="n",
    peers={"torch.histc": Peer(torch_histc), "torch.bincount": Peer(torch_bincount)},
    torch_ops=("aten::histc", "aten::bincount"),
)
