"""A linear layer: Y = X Wᵀ + b, each row of Y with the bias b. X, W and Y lie in rows; W has a row for each output."""

from __future__ import annotations

from gridstride.judge.problem import Array, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """Y[i][j] = b[j] + sum over k of X[i][k] W[j][k]."""
    return {"Y": v["X"] @ v["W"].T + v["b"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values."""
    return {"Y": abs(v["X"]) @ abs(v["W"]).T + abs(v["b"])}


problem = Problem(
    name="linear_layer",
    title="A linear layer, Y = X Wᵀ + b, float32",
    parameters=(
        array("X", "float32", "M", "K"),
        array("W", "float32", "N", "K"),
        array("b", "float32", "N"),
        array("Y", "float32", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="K",
    public=({"M": 8, "N": 5, "K": 7}, {"M": 1, "N": 33, "K": 2}, {"M": 40, "N": 3, "K": 16}),
    largest={"M": 96, "N": 160, "K": 64},
    observed={"M": 96, "N": 160, "K": 64},
    timed={"M": 96, "N": 160, "K": 64},
    flops="2*M*N*K",
    bytes="4*(M*K + N*K + N + M*N)",
)
