"""SAXPY: y = a x + y in float32, in place."""

from __future__ import annotations

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size


def reference(v: Values) -> dict[str, Array]:
    """One multiply-add per element."""
    return {"y": v["a"] * v["x"] + v["y"]}


def magnitude(v: Values) -> dict[str, Array]:
    """|a x| + |y|."""
    return {"y": abs(v["a"] * v["x"]) + abs(v["y"])}


def torch_add(v: Values) -> object:
    """PyTorch's scaled addition, in place."""
    return v["y"].add_(v["x"], alpha=v["a"])


problem = Problem(
    name="saxpy",
    title="SAXPY, y = a x + y, float32",
    parameters=(size("n"), scalar("a"), array("x", "float32", "n"), array("y", "float32", "n", role="inout")),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    exact=True,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 1}),
    largest={"n": 20_000},
    tiles=(32, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="2*n",
    bytes="12*n",
    pieces="n",
    peers={"torch.add": Peer(torch_add)},
    torch_ops=("aten::add_", "aten::_foreach_add_"),
)
