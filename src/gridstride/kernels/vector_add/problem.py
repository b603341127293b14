"""Vector addition: c = a + b in float32."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """One addition per element."""
    return {"c": v["a"] + v["b"]}


def magnitude(v: Values) -> dict[str, Array]:
    """|a| + |b|: when the two cancel, the rounding error is still in proportion to this."""
    total = abs(v["a"])
    total += abs(v["b"])
    return {"c": total}


def huge(v: Values, draw: Generator) -> dict[str, Any]:
    """Sums next to what float32 holds, and above it: Inf then."""
    return {
        name: draw.uniform(1e38, 3.4e38, v[name].shape) * draw.choice([-1, 1], v[name].shape) for name in ("a", "b")
    }


def torch_add(v: Values) -> object:
    """PyTorch's own addition, into the output array."""
    import torch

    return torch.add(v["a"], v["b"], out=v["c"])


problem = Problem(
    name="vector_add",
    title="Vector addition, c = a + b, float32",
    parameters=(
        array("a", "float32", "n"),
        array("b", "float32", "n"),
        array("c", "float32", "n", role="out"),
        size("n"),
    ),
    reference=reference,
    magnitude=magnitude,
    exact=True,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 2_200_000},
    special={"huge": huge},
    tiles=(32, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="n",
    bytes="12*n",
    pieces="n",
    peers={"torch.add": Peer(torch_add)},
    torch_ops=("aten::add", "aten::mul", "aten::sub", "aten::div"),
)
