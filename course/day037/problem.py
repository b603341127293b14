"""Rounds of mixing: y = x, then in round r, y[i] = s[i] ^ s[(i + 1) % n] with s[i] = 5 * y[i] + add[r], in 32 bits.

first[r] is y[0] after round r.
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

_BITS = np.uint32


def reference(v: Values) -> dict[str, Array]:
    """Round by round; what goes beyond 32 bits is lost."""
    y = np.asarray(v["x"], np.int32).view(_BITS).copy()
    first = []
    for add in np.asarray(v["add"], np.int32).view(_BITS):
        s = y * _BITS(5) + add
        y = s ^ np.roll(s, -1)
        first.append(y[:1])
    return {"y": y.view(np.int32), "first": np.concatenate(first).view(np.int32)}


problem = Problem(
    name="mixing",
    title="Rounds of mixing, each with scratch memory",
    parameters=(
        array("x", "int32", "n"),
        array("add", "int32", "rounds"),
        array("y", "int32", "n", role="out"),
        array("first", "int32", "rounds", role="out"),
        size("n"),
        size("rounds"),
    ),
    reference=reference,
    exact=True,
    bitwise=True,
    public=({"n": 1000, "rounds": 3}, {"n": 77, "rounds": 5}),
    largest={"n": 5000, "rounds": 20},
    observed={"n": 5000, "rounds": 20},
    timed={"n": 5000, "rounds": 20},
    flops="3*n*rounds",
    bytes="16*n*rounds",
)
