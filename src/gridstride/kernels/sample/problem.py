"""One token per row of logits: greedy, or drawn from what min-p, top-k and top-p leave, by a given uniform number.

A row whose largest logit is NaN or infinite gives -1; a temperature of 0 (or -0) the first token of the largest logit.
Else a token's weight is exp((logit - largest) / temperature). Left are those of weight at least min_p; where 0 <
top_k < V, those whose logit is no less than the k-th largest (equal logits stay together); where top_p < 1, of what
is left the likeliest until their weights reach top_p of all, and those equal to the last: of top_p = 0 or less the
likeliest alone, and those equal to it. Their weights are added up in the vocabulary's order: the token is the first
whose sum is above uniform times the whole; one that is equal is not above.

Ranges: temperature is 0 or from 0.001 to 100. top_k is any number; top_p, too, and NaN, which is not below 1 and leaves
all; min_p is at most 1 and no NaN, and 0 or less leaves all. uniform is at least 0 and below 1; 2^-30 of it may decide,
and of weights what is above 2^-40. A token without weight, whose logit is -Inf, is never the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size

TEMPERATURES = (0.001, 0.005, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 100.0)


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
    sums = kept_sums(logits, temperature, top_k, top_p, min_p)
    return int(np.searchsorted(sums, uniform * sums[-1], side="right"))


def kept_sums(logits: Array, temperature: float, top_k: int, top_p: float, min_p: float) -> Array:
    """The weights of the tokens that are left, added up in the vocabulary's order: in float64, whatever logits are, for
    2^-40 of a weight counts.
    """
    logits = logits.astype(np.float64)
    shares = np.exp((logits - logits.max()) / temperature)
    candidates = shares >= min_p
    if 0 < top_k < len(logits):
        candidates &= logits >= np.partition(logits, -top_k)[-top_k]
    if top_p < 1:
        order = np.argsort(np.where(candidates, -logits, np.inf), kind="stable")
        sums = np.cumsum(np.where(candidates, shares, 0)[order])
        candidates &= logits >= logits[order[np.searchsorted(sums, top_p * sums[-1])]]
    return np.cumsum(np.where(candidates, shares, 0))


def arrange(v: Values) -> dict[str, Any]:
    """Numbers that mean something; points of the draw that lie in the middle of a token, where no rounding decides.

    Whole logits 1/8 apart: equal ones are equal and others are not, in any precision.
    """
    logits = np.round(np.clip(np.nan_to_num(v["logits"], nan=0.0), -64, 64) * 8) / 8
    rows, tokens = logits.shape
    draw = np.random.default_rng(np.ascontiguousarray(v["uniform"]).view(np.uint64))
    settings = {
        "temperature": draw.choice([0.0, -0.0, *TEMPERATURES], rows),
        "top_k": draw.choice([-1, 0, 1, 3, 40, 41, 100, tokens - 1, tokens, tokens + 1], rows),
        "top_p": draw.choice([1.0, 1.5, 0.9, 0.35, 0.01, 1e-7, 1e-30, 0.0, -0.5, -np.inf, np.nan], rows),
        "min_p": draw.choice([0.0, 0.03, 0.4, 1.0, -0.25], rows),
    }
    if rows > 1:
        logits[0, -1] = np.nan
    return _with_points(logits, settings, draw)


def _telling(sums: Array, second: Array) -> float:
    """The middle of the widest stretch of points that give another token by the other sums."""
    ends = np.unique(np.concatenate(([0.0], sums / sums[-1], second / second[-1])))
    middles = (ends[1:] + ends[:-1]) / 2
    tokens = (np.searchsorted(cumulative, middles * cumulative[-1], side="right") for cumulative in (sums, second))
    return float(middles[np.argmax(np.diff(ends) * np.not_equal(*tokens))])


def _with_points(logits: Array, settings: dict[str, Any], draw: Generator, near: Array | None = None) -> dict[str, Any]:
    """Points in the middle of the tokens that those of `near` fall into, or any."""
    settings = {n: x.astype(np.int32 if n == "top_k" else np.float32) for n, x in settings.items()}
    near = draw.random(len(logits)) if near is None else near
    points = [_point(row, {n: x[m] for n, x in settings.items()}, near[m]) for m, row in enumerate(logits)]
    return {"logits": logits.astype(np.float32), **settings, "uniform": np.array(points)}


def masked(v: Values, draw: Generator) -> dict[str, Any]:
    """Tokens whose logit is -Inf, the first ones among them; a row with nothing else, one with +Inf, and some whose
    other logits are all -3e38: who starts a maximum at -1e30 finds no token.
    """
    logits = np.where(np.isfinite(v["logits"]), v["logits"], 0.0)
    rows, tokens = logits.shape
    hidden = draw.random(logits.shape) < 0.5
    hidden[:, : tokens // 3] = True
    hidden[np.arange(rows), draw.integers(tokens // 3, tokens, rows)] = False
    least = draw.random((rows, 1)) < 0.25
    logits = np.where(hidden, -np.inf, np.where(least, -3e38, logits))
    if rows > 1:
        logits[draw.integers(0, rows)] = -np.inf
    if rows > 2:
        logits[-1, draw.integers(0, tokens)] = np.inf
    return _with_points(logits, {n: v[n] for n in ("temperature", "top_k", "top_p", "min_p")}, draw)


def at_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """A uniform number of 0 takes the first token that is left, however many were masked before it and however little
    it weighs: down to e^-25. So does one of 2^-48 where it weighs more than that.
    """
    logits = np.clip(np.nan_to_num(v["logits"], nan=0.0), -2, 2)
    rows, tokens = logits.shape
    first = draw.integers(0, tokens)
    logits[:, :first] = -np.inf
    least = draw.integers(-23, -15, rows)
    logits[:, first] = np.where(draw.random(rows) < 0.7, least, logits[:, first])
    least_left = (logits[:, first] > -19) & (tokens - first < 1000)
    uniform = np.where(least_left & (draw.random(rows) < 0.5), 2.0**-48, 0.0)
    settings = {"top_k": np.zeros(rows), "top_p": np.ones(rows), "min_p": np.zeros(rows)}
    return {**settings, "logits": logits, "uniform": uniform, "temperature": np.ones(rows)}


def next_to_one(v: Values, draw: Generator) -> dict[str, Any]:
    """A uniform number that leaves 2^-30 or 2^-53 of the whole: the last token that is left is drawn, and no masked one
    behind it. Half the time it has 2^-28 of the whole.
    """
    logits = np.clip(np.nan_to_num(v["logits"], nan=0.0), -2, 2)
    rows, tokens = logits.shape
    last = int(draw.integers(tokens // 2, tokens))
    logits[:, last + 1 :] = -np.inf
    uniform = np.full(rows, 1 - 2.0**-53)
    for m, row in enumerate(logits):
        remaining_mass = np.exp(row[:last] - row[:last].max()).sum() if last else 0.0
        if last and draw.random() < 0.5:
            row[last] = row[:last].max() + np.log(remaining_mass) - 28 * np.log(2)
            uniform[m] = 1 - 2.0**-30
    settings = {"top_k": np.zeros(rows), "top_p": np.ones(rows), "min_p": np.zeros(rows)}
    return {**settings, "logits": logits, "uniform": uniform, "temperature": np.ones(rows)}


def decided_by_little(v: Values, draw: Generator) -> dict[str, Any]:
    """A min_p that is 2^-18 of a token's weight away from it, or a top_p so near to 1 that it cuts among tokens that
    weigh less than a millionth; and a point in what is decided so.
    """
    rows, tokens = v["logits"].shape
    logits = np.round(np.clip(np.nan_to_num(v["logits"], nan=0.0), -2, 2) * 8) / 8
    settings = {name: np.full(rows, of) for name, of in (("temperature", 1.0), ("top_k", 0), ("top_p", 1.0))}
    settings["min_p"] = np.zeros(rows)
    near, telling = draw.random(rows), np.full(rows, np.nan)
    first = int(draw.integers(2))
    for m, row in enumerate(logits):
        if (m + first) % 2:
            rare = draw.random(tokens) < 0.5
            row[:] = np.where(rare, -15.0, -17.0)
            row[draw.integers(tokens)] = 0.0
            weights = np.exp(row)
            settings["top_p"][m] = (1 + weights[row >= -15].sum()) / 2 / weights.sum()
            near[m] = 1 - 2.0**-26
        else:
            token = int(draw.integers(tokens))
            row[draw.permutation(tokens)[8:]] -= 8  # of few tokens each has a share that shows
            row[token] = row.max() - draw.uniform(0.1, 2.0)
            row[:] = row.astype(np.float32)
            weight = np.exp(row[token] - row.max())
            least = [min(1.0, float(np.float32(weight * (1 + side * 2.0**-18)))) for side in draw.permutation([-1, 1])]
            settings["min_p"][m] = least[0]
            telling[m] = _telling(*(kept_sums(row, 1.0, 0, 1.0, threshold) for threshold in least))
    values = _with_points(logits, settings, draw, near)
    return {**values, "uniform": np.where(np.isnan(telling), values["uniform"], telling)}


def at_the_end(v: Values, draw: Generator) -> dict[str, Any]:
    """The last eight tokens are the likeliest, so that one of them is drawn."""
    logits = np.clip(np.nan_to_num(v["logits"], nan=0.0), -8, 8)
    logits[:, -8:] += 32
    settings = {n: v[n] for n in ("temperature", "top_k", "top_p", "min_p")}
    return _with_points(logits, {**settings, "temperature": np.full(len(logits), 0.5)}, draw)


def boundaries(v: Values, draw: Generator) -> dict[str, Any]:
    """Equal logits, a power of two of them among masked ones: a point where a token begins, and points so little before
    one that a float32 does not hold the difference. All sums are whole numbers, so rounding decides nothing.
    """
    rows, tokens = v["logits"].shape
    live = 1 << (tokens.bit_length() - 1)
    logits = np.full((rows, tokens), -np.inf)
    for row in logits:
        row[draw.choice(tokens, live, replace=False)] = 0.5
    begins = draw.integers(0, live, rows) / live
    below = (draw.integers(0, live, rows) + 1) / live * (1 - 2.0**-30)
    settings = {"temperature": draw.choice(TEMPERATURES, rows), "top_k": np.zeros(rows), "min_p": np.zeros(rows)}
    return {**settings, "logits": logits, "uniform": np.where(draw.random(rows) < 0.5, begins, below)}


def greedy(v: Values, draw: Generator) -> dict[str, Any]:
    """A temperature of 0 in every row; the largest logit, and its equals, anywhere or among the last tokens: there it
    is alone in the first row, for indices that do not go that far.
    """
    logits = np.round(np.clip(np.nan_to_num(v["logits"], nan=0.0), -64, 64))
    rows, tokens = logits.shape
    for number, row in enumerate(logits):
        last = number == 0 or draw.random() < 0.5
        first = max(0, tokens - draw.integers(1, 9)) if last else draw.integers(0, tokens)
        row[draw.integers(first, tokens, 3)] = row.max()
        row[first] = row.max() + (1 if number == 0 else draw.integers(0, 2))
    return {"logits": logits, "temperature": draw.choice([0.0, -0.0], rows)}


def close(v: Values, draw: Generator) -> dict[str, Any]:
    """Logits that differ in their last bits: the largest alone is right, or the largest of a few. Who compares in fewer
    bits takes another.
    """
    rows, tokens = v["logits"].shape
    least = draw.choice(np.array([1.0, -3.0, 40.0], np.float32), (rows, 1))
    logits = (least.view(np.int32) + draw.integers(0, 300, (rows, tokens), np.int32)).view(np.float32)
    settings = {
        "temperature": draw.choice([0.0, 1.0], rows),
        "top_k": draw.choice([1, 2, 3], rows),
        "top_p": np.ones(rows),
        "min_p": np.zeros(rows),
    }
    return _with_points(logits.astype(np.float64), settings, draw)


def any_temperature(v: Values, draw: Generator) -> dict[str, Any]:
    """Temperatures of all sizes, the ends among them, and points 2^-16 of the whole behind where a token begins: who
    rounds the temperature to a half, or its reciprocal, or holds it up or down, takes the token before or after.
    """
    rows = len(v["logits"])
    usual = np.exp(draw.uniform(np.log(0.2), np.log(5), rows))
    ends = np.array([TEMPERATURES[0], TEMPERATURES[-1], draw.choice([0.0015, 0.007, 80.0]), 0.0])
    ends = ends[(np.arange(rows) + draw.integers(4)) % 4]  # each in turn: a case has few rows
    temperature = np.where(ends == 0, usual, ends).astype(np.float32)
    spread = np.where((temperature >= 0.2) & (temperature <= 5), 1.0, temperature)[:, None]
    logits = np.clip(np.nan_to_num(v["logits"], nan=0.0), -6, 6) * spread
    logits = logits.astype(np.float32).astype(np.float64)
    settings = {"top_k": np.zeros(rows), "top_p": np.ones(rows), "min_p": np.zeros(rows)}
    uniform = np.zeros(rows)
    for m, row in enumerate(logits):
        sums = kept_sums(row, float(temperature[m]), 0, 1.0, 0.0) if np.isfinite(row.max()) else np.ones(1)
        token = int(np.searchsorted(sums, draw.random() * sums[-1], side="right"))
        low = sums[token - 1] if token else 0.0
        uniform[m] = (low + min(2.0**-16 * sums[-1], (sums[token] - low) / 2)) / sums[-1]
    return {**settings, "logits": logits, "temperature": temperature, "uniform": uniform}


def _point(logits: Array, wishes: dict[str, Any], near: float) -> float:
    """The middle of the token that `near` falls into."""
    if wishes["temperature"] == 0 or not np.isfinite(logits.max()):
        return near
    sums = kept_sums(logits, **wishes)
    token = int(np.searchsorted(sums, near * sums[-1], side="right"))
    low = sums[token - 1] if token else 0.0
    return float((low + sums[token]) / 2 / sums[-1])


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
    special={
        "masked": masked,
        "uniform = 0": at_zero,
        "last tokens": at_the_end,
        "boundaries": boundaries,
        "greedy": greedy,
        "uniform next to 1": next_to_one,
        "decided by little": decided_by_little,
        "logits close together": close,
        "any temperature": any_temperature,
    },
    widest={"V": 153_000, "M": 130},
    wide_data=("normal", "greedy", "last tokens"),
    # The last: more tokens than a block has threads, so that a thread adds up several.
    public=({"M": 6, "V": 500}, {"M": 4, "V": 97}, {"M": 1, "V": 1}, {"M": 4, "V": 1100}),
    largest={"M": 5, "V": 1500},
    tiles=(4, 32, 1024),
    observed={"M": 4, "V": 4096},
    timed={"M": 128, "V": 151_936},
    flops="4*M*V",
    bytes="4*M*V",
)
