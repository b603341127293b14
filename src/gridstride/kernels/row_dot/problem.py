"""Dot products of rows: y_i = Σ_j a_ij b_ij, halves with a float32 sum. Attention's backward pass needs that of out and
its gradient, delta.
"""

from __future__ import annotations

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself."""
    return {"y": (v["a"] * v["b"]).sum(axis=-1)}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values."""
    return {"y": abs(v["a"] * v["b"]).sum(axis=-1)}


def torch_products(v: Values) -> object:
    """In float32 by PyTorch's operators, which have no kernel for all of it."""
    return v["y"].copy_((v["a"].float() * v["b"].float()).sum(-1))


problem = Problem(
    name="row_dot",
    title="Dot products of the rows of two matrices, float16 with float32 sums",
    parameters=(
        array("a", "float16", "rows", "columns"),
        array("b", "float16", "rows", "columns"),
        array("y", "float32", "rows", role="out"),
        size("rows"),
        size("columns"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="columns",
    exact=True,
    zeros=("rows",),
    without={"spikes": "a million is infinite in float16"},
    public=(
        {"rows": 70, "columns": 128},
        {"rows": 33, "columns": 64},
        {"rows": 5, "columns": 1001},
        {"rows": 40, "columns": 75},
        {"rows": 1, "columns": 1},
    ),
    largest={"rows": 100, "columns": 700},
    widest={"rows": 66_000, "columns": 70_000},
    tiles=(8, 32, 128, 256),
    observed={"rows": 256, "columns": 128},
    timed={"rows": 262_144, "columns": 128},
    flops="2*rows*columns",
    bytes="4*rows*columns+4*rows",
    alignment=16,  # the op checks it
    pieces="rows",
    peers={"torch": Peer(torch_products)},
)
