"""European options by the formula of Black and Scholes: a call and a put for each of n, float32.

    call = S N(d1) - K e^(-rT) N(d2)        put = K e^(-rT) N(-d2) - S N(-d1)
    d1 = (ln(S / K) + (r + v²/2) T) / (v √T)        d2 = d1 - v √T

with the price S of the share, the strike K, T years to go, the interest r and the volatility v; N(d) is the normal
distribution, erfc(-d / √2) / 2.
"""

from __future__ import annotations

from math import erfc, pi, sqrt
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

_LEAST = 2 * float(np.finfo(np.float32).smallest_normal)  # N(d) is a float: below this its spacing does not shrink
_ERFC = np.vectorize(erfc, otypes=[np.float64])


def normal(d: Array) -> Array:
    """The share of a normal distribution below d."""
    share: Array = _ERFC(-d / sqrt(2)) / 2 if d.size else d
    return share


def terms(v: Values) -> tuple[Array, Array, Array, Array]:
    """d1, d2, the discounted strike, and v √T."""
    width = v["volatility"] * np.sqrt(v["years"])
    d1 = (np.log(v["spot"] / v["strike"]) + (v["rate"] + v["volatility"] ** 2 / 2) * v["years"]) / width
    return d1, d1 - width, v["strike"] * np.exp(-v["rate"] * v["years"]), width


def reference(v: Values) -> dict[str, Array]:
    """Both prices."""
    d1, d2, strike, _ = terms(v)
    spot = v["spot"]
    return {
        "call": spot * normal(d1) - strike * normal(d2),
        "put": strike * normal(-d2) - spot * normal(-d1),
    }


def magnitude(v: Values) -> dict[str, Array]:
    """Both terms, and what an error of d by some three roundings changes in them: of d, and of ln(S / K) over v √T."""
    d1, d2, strike, width = terms(v)

    def term(amount: Array, d: Array, sign: int) -> Array:
        density = np.exp(-d * d / 2) / sqrt(2 * pi)
        return amount * (normal(sign * d) + 3 * density * (abs(d) + 1 / width) + _LEAST)

    return {
        "call": term(v["spot"], d1, 1) + term(strike, d2, 1),
        "put": term(v["spot"], d1, -1) + term(strike, d2, -1),
    }


def market(v: Values) -> dict[str, Any]:
    """Prices and strikes from 5 to 100, up to ten years, interest from -2 to 10 %, volatility from 10 to 60 %."""

    def between(low: float, high: float, x: Any) -> Any:
        share = 0.5 + 0.5 * x / (1 + abs(x))
        return low + (high - low) * share

    return {
        "spot": between(5, 100, v["spot"]).astype(np.float32),
        "strike": between(5, 100, v["strike"]).astype(np.float32),
        "years": between(0.05, 10, v["years"]).astype(np.float32),
        "rate": float(np.float32(between(-0.02, 0.1, v["rate"]))),
        "volatility": float(np.float32(between(0.1, 0.6, v["volatility"]))),
    }


def far_from_the_strike(v: Values, draw: Generator) -> dict[str, Any]:
    """Options that are worth next to nothing one way: who takes 1 - N(d), or one price from the other, has noise."""
    n = len(v["spot"])
    up = draw.random(n) < 0.5
    far = np.where(up, draw.uniform(80, 100, n), draw.uniform(5, 10, n))
    return {"spot": far, "strike": np.where(up, draw.uniform(5, 10, n), draw.uniform(80, 100, n)),
            "years": draw.uniform(0.05, 1.0, n)}  # fmt: skip


def at_the_strike(v: Values, draw: Generator) -> dict[str, Any]:
    """The share costs what the strike is, and little time is left."""
    return {"strike": v["spot"], "years": draw.uniform(0.05, 0.1, len(v["spot"]))}


problem = Problem(
    name="black_scholes",
    title="European options by Black and Scholes, float32",
    parameters=(
        array("spot", "float32", "n"),
        array("strike", "float32", "n"),
        array("years", "float32", "n"),
        array("call", "float32", "n", role="out"),
        array("put", "float32", "n", role="out"),
        size("n"),
        scalar("rate"),
        scalar("volatility"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=market,
    special={"far from the strike": far_from_the_strike, "at the strike": at_the_strike},
    terms="16",
    without={"nonfinite": "prices and years are finite"},
    public=({"n": 1024}, {"n": 1000}, {"n": 5}, {"n": 4099}, {"n": 1}),
    largest={"n": 5000},
    widest={"n": 60_000},
    tiles=(4, 32, 128, 256, 512),
    observed={"n": 1 << 15},
    timed={"n": 1 << 22},
    flops="80*n",
    bytes="20*n",
    pieces="n",
)
