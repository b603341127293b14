"""One token per row of logits: greedy, or drawn from what min-p, top-k and top-p leave, by a given uniform number."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

ONE = 2.0**40  # weight of the likeliest token; weights are whole numbers


def reference(v: Values) -> dict[str, Array]:
    """Where the kept weights, added up in the vocabulary's order, pass the uniform number."""
    rows = zip(*(v[n] for n in ("logits", "temperature", "top_k", "top_p", "min_p", "uniform")), strict=True)
    return {"tokens": np.array([drawn(*row) for row in rows], np.int64)}


def drawn(logits: Array, temperature: float, top_k: int, top_p: float, min_p: float, uniform: float) -> int:
    """One row's token; -1 where the largest logit is no finite number."""
    if not np.isfinite(logits.max()):
        return -1
    if temperature == 0:
        return int(logits.argmax())
    shares = np.exp((logits - logits.max()) / temperature)
    kept = shares >= min_p
    if 0 < top_k < len(logits):
        kept &= logits >= np.sort(logits)[-top_k]
    if top_p < 1:
        order = np.argsort(np.where(kept, -logits, np.inf), kind="stable")
        sums = np.cumsum(np.where(kept, shares, 0)[order])
        kept &= logits >= logits[order[np.searchsorted(sums, top_p * sums[-1])]]
    sums = np.cumsum(np.where(kept, shares, 0))
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))


def arrange(v: Values) -> dict[str, Any]:
    """Numbers that mean something; points of the draw that lie in the middle of a token, where no rounding decides.

    Whole logits 1/8 apart: equal ones are equal and others are not, in any precision.
    """
    logits = np.round(np.clip(np.nan_to_num(v["logits"], nan=0.0), -64, 64) * 8) / 8
    rows = len(logits)
    draw = np.random.default_rng(logits.size)
    settings = {
        "temperature": draw.choice([0.0, 0.5, 1.0, 2.0], rows), "top_k": draw.choice([0, 1, 3, 40], rows),
        "top_p": draw.choice([1.0, 0.9, 0.35], rows), "min_p": draw.choice([0.0, 0.03], rows),
    }  # fmt: skip
    if rows > 1:
        logits[0, -1] = np.nan
    settings = {n: x.astype(np.int32 if n == "top_k" else np.float32) for n, x in settings.items()}
    points = [_point(logits[m], {n: x[m] for n, x in settings.items()}, draw.random()) for m in range(rows)]
    return {"logits": logits.astype(np.float32), **settings, "uniform": np.array(points)}


def _point(logits: Array, wishes: dict[str, Any], near: float) -> float:
    """The middle of the token that `near` falls into."""
    if wishes["temperature"] == 0 or not np.isfinite(logits.max()):
        return near
    token = drawn(logits, uniform=near, **wishes)
    low, high = near, near  # bisect for the token's borders
    for sign in (-1, 1):
        inside, outside = near, 0.0 if sign < 0 else 1.0
        for _ in range(40):
            middle = (inside + outside) / 2
            inside, outside = (
                (middle, outside) if drawn(logits, uniform=middle, **wishes) == token else (inside, middle)
            )
        low, high = (inside, high) if sign < 0 else (low, inside)
    return (low + high) / 2


problem = Problem(
    name="sample",
    title="Drawing one token per row of logits, float32",
    parameters=(
        array("logits", "float32", "M", "V"),
        array("temperature", "float32", "M"),
        array("top_k", "int32", "M"),
        array("top_p", "float32", "M"),
        array("min_p", "float32", "M"),
        array("uniform", "float64", "M"),
        array("tokens", "int64", "M", role="out"),
        size("M"),
        size("V"),
    ),
    reference=reference,
    arrange=arrange,
    # The last: more tokens than a block has threads, so that a thread adds up several.
    public=({"M": 6, "V": 500}, {"M": 4, "V": 97}, {"M": 1, "V": 1}, {"M": 4, "V": 1100}),
    largest={"M": 5, "V": 1500},
    tiles=(4, 32, 1024),
    observed={"M": 4, "V": 4096},
    timed={"M": 128, "V": 151_936},
    flops="4*M*V",
    bytes="4*M*V",
)
