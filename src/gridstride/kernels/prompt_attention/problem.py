"""Attention of prompts: pieces of several sequences' queries over their keys and values in blocks of a paged cache.

Two query heads share each of the K heads of keys and values. Token t of the sequence of row s of `tables` lies at
[tables[s][t / 16], head, t % 16]. A piece is four numbers: its first row of q, how many rows (up to 64), its row of
tables, and how many keys its last query sees; each query before it sees a key less, and one that sees none gives zeros.
Pieces have no row of q in common, and any order. Those without queries are unused and come last, whatever else they
hold; rows of `out` in no piece stay as they are. The rest of the cache and of the tables holds anything: NaN, or
numbers of no block. `scale` is any finite number but 0, below zero too: the smallest product counts most then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

WIDTH, GROUP, BLOCK_SIZE = 128, 2, 16  # of the judged kernels; they take others by macro
MOST = 128 // GROUP  # queries of a piece
LARGE = 100.0  # a score
SCALES = (WIDTH**-0.5, WIDTH**-0.5, 0.05, 0.3, -(WIDTH**-0.5))  # the first is what models use
_PRODUCT, _LEAST = 2.0**-7, 2.0**-14
"""Of scores and of weights, errors in roundings of float16: as in attention's problem."""
_NOWHERE = 1 << 30


def reference(v: Values) -> dict[str, Array]:
    """softmax(scale q k) v of the queries of all pieces; other rows as they were."""
    out = v["out"].copy()
    for rows, head, heads, weights, _, x in _attended(v):
        out[rows, heads] = np.einsum("qgt,td->qgd", weights, x[head])
    return {"out": out}


def magnitude(v: Values) -> dict[str, Array]:
    """The same weights over absolute values; an error of a score is one of its weight, and of the sum of all."""
    out = abs(v["out"])
    for rows, head, heads, weights, scores, x in _attended(v):
        rounding = _PRODUCT * np.nan_to_num(scores)
        weights = weights * (1 + rounding + np.sum(weights * rounding, axis=-1, keepdims=True))
        out[rows, heads] = np.einsum("qgt,td->qgd", weights + _LEAST * (scores >= 0), abs(x[head]))
    return {"out": out}


def _attended(v: Values) -> Iterator[tuple[slice, int, slice, Array, Array, Array]]:
    """Of each piece and head of keys: rows and heads of q, weights and sizes of scores [n, GROUP, L], values [K, L, D].

    Where a key is not seen its weight is 0 and its score's size -1.
    """
    for first, count, table, last in _used(v["pieces"]):
        tokens, rows = max(0, last), slice(first, first + count)
        blocks = v["tables"][table][: -(-tokens // BLOCK_SIZE)]
        k, x = (cache[blocks].swapaxes(1, 2).reshape(-1, *cache.shape[1::2])[:tokens] for cache in _caches(v))
        k, x = k.swapaxes(0, 1), x.swapaxes(0, 1)  # [K, L, D]
        visible = np.arange(tokens) <= (last - count + np.arange(count))[:, None, None]
        for head in range(len(k)):
            heads = slice(GROUP * head, GROUP * (head + 1))
            q = v["q"][rows, heads]
            with np.errstate(invalid="ignore"):
                scores = np.where(visible, np.einsum("qgd,td->qgt", q, k[head]) * v["scale"], -np.inf)
                largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
                powers = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
                total = powers.sum(axis=-1, keepdims=True)
                sizes = np.einsum("qgd,td->qgt", abs(q), abs(k[head])) * abs(v["scale"])
            yield rows, head, heads, powers / np.where(total == 0, 1.0, total), np.where(visible, sizes, -1.0), x


def _caches(v: Values) -> tuple[Array, Array]:
    return v["keys"], v["values"]


def _used(pieces: Array) -> Iterator[tuple[int, int, int, int]]:
    for first, count, table, last in pieces.tolist():
        if count <= 0:
            return
        yield first, count, table, last


def arrange(v: Values) -> dict[str, Any]:
    """Blocks that there are, pieces one behind the other while there are rows, scores of the size of 1.

    Where all q and all keys are equal, so are the scores: they are 100 then, which e to the power of overflows.
    """
    q, k = (v[name].flat[0] if v[name].size else 0.0 for name in ("q", "keys"))
    is_uniform = bool(float(q) * float(k) and (v["q"] == q).all() and (v["keys"] == k).all())
    drawn = abs(v["pieces"].astype(np.int64))
    pieces = [(1 + count % MOST, table, visible) for _, count, table, visible in drawn]
    return {
        "tables": (v["tables"] % v["keys"].shape[0]).astype(np.int32),
        "pieces": _pieces(v, [(count, table, 1 + visible % _longest(v)) for count, table, visible in pieces]),
        "scale": LARGE / (WIDTH * float(q) * float(k))
        if is_uniform
        else SCALES[int(abs(v["scale"]) * 1e4) % len(SCALES)],
    }


def _longest(v: Values) -> int:
    return int(v["tables"].shape[1]) * BLOCK_SIZE


def _pieces(v: Values, requested: list[tuple[int, int, int]], *, skip: int = 0) -> Array:
    """(count, table, seen) of each, as many as there are rows for; `skip` rows in front of each belong to none.

    A piece that is cut short for want of rows still sees as many keys. Unused ones point nowhere.
    """
    pieces = np.full((len(v["pieces"]), 4), _NOWHERE, np.int32)
    pieces[:, 1] = 0
    first, rows = skip, len(v["q"])
    for piece, (count, table, visible) in zip(pieces, requested, strict=False):
        count = min(count, rows - first)
        if count <= 0:
            break
        piece[:] = first, count, table % len(v["tables"]), min(visible, _longest(v))
        first += count + skip
    return pieces


def _past(v: Values, draw: Generator) -> int:
    return int(draw.integers(0, _longest(v), endpoint=True))


def one_long(v: Values, draw: Generator) -> dict[str, Any]:
    """All pieces are one chunk of the last sequence, behind a past, and the longest come first."""
    past, numbers = _past(v, draw), range(len(v["pieces"]))
    pieces = _pieces(v, [(MOST, -1, past + MOST * (p + 1)) for p in numbers])
    used = len(list(_used(pieces)))
    if used:  # the last one may be short
        pieces[used - 1, 3] = min(past + MOST * (used - 1) + pieces[used - 1, 1], _longest(v))
    pieces[:used] = pieces[:used][::-1]
    return {"pieces": pieces}


def many_short(v: Values, draw: Generator) -> dict[str, Any]:
    """Prompts of a few tokens, each with all of its keys."""
    counts = draw.integers(1, 6, len(v["pieces"])).tolist()
    return {"pieces": _pieces(v, [(count, p, count) for p, count in enumerate(counts)])}


def edges(v: Values, draw: Generator) -> dict[str, Any]:
    """Counts and keys that end with a block of the cache, with a tile, one more and one less, and with the table."""
    counts = [1, 8 // GROUP, MOST // 2 - 1, MOST // 2, MOST // 2 + 1, MOST - 1, MOST]
    lengths = [edge + more for edge in (BLOCK_SIZE, 64, 128, 256) for more in (-1, 0, 1)] + [1, _longest(v)]
    chosen = [(draw.choice(counts), draw.integers(len(v["tables"])), draw.choice(lengths)) for _ in v["pieces"]]
    return {"pieces": _pieces(v, [(int(count), int(table), int(last)) for count, table, last in chosen])}


def nothing_seen(v: Values, draw: Generator) -> dict[str, Any]:
    """Fewer keys than queries: the first ones see none, or all of a piece do."""
    counts = draw.integers(1, MOST, len(v["pieces"]), endpoint=True).tolist()
    last = [draw.choice([-_NOWHERE, -1, 0, 1, count // 2, count - 1]).item() for count in counts]
    return {
        "pieces": _pieces(v, [(count, p, visible) for p, (count, visible) in enumerate(zip(counts, last, strict=True))])
    }


def any_order(v: Values, draw: Generator) -> dict[str, Any]:
    """Pieces in any order, with rows between them that belong to none."""
    requested = [(int(draw.integers(1, MOST)), p, _past(v, draw) + 1) for p in range(len(v["pieces"]))]
    pieces = _pieces(v, requested, skip=int(draw.integers(1, 9)))
    used = len(list(_used(pieces)))
    pieces[:used] = draw.permutation(pieces[:used])
    return {"pieces": pieces}


def unused(v: Values, draw: Generator) -> dict[str, Any]:
    """What no piece sees is what memory happens to hold: NaN in the cache, and -1 in the tables."""
    used, tables = np.zeros((len(v["keys"]), BLOCK_SIZE), bool), np.full_like(v["tables"], draw.choice([-1, _NOWHERE]))
    for _, _, table, last in _used(v["pieces"]):
        tokens = np.arange(max(0, last))
        used[v["tables"][table, tokens // BLOCK_SIZE], tokens % BLOCK_SIZE] = True
        blocks = -(-len(tokens) // BLOCK_SIZE)
        tables[table, :blocks] = v["tables"][table, :blocks]
    cache = {name: v[name].copy() for name in ("keys", "values")}
    for pool in cache.values():
        pool.swapaxes(1, 2)[~used] = np.nan
    return {**cache, "tables": tables}


def rising(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores that rise or fall along the keys, by some 20: a running maximum changes with every tile, or never."""
    slope = np.linspace(0.0, 20.0, len(v["keys"])) if draw.random() < 0.7 else np.linspace(20.0, 0.0, len(v["keys"]))
    q, keys = v["q"].astype(np.float64), v["keys"].astype(np.float64)
    keys = 0.3 * keys + slope[:, None, None, None] / WIDTH**0.5
    return {"q": 0.3 * q + 1, "keys": keys, "tables": np.sort(v["tables"], axis=1), "scale": SCALES[0]}


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Scores of some -280, -11,000 or -69,000, all of them: who takes 0, -10,000 or the least half for the largest, or
    does not take it away, divides 0 by 0. Values are positive: scores so large may be wrong by some of a weight.
    """
    q, k = (0.1 * v[name].astype(np.float64) for name in ("q", "keys"))
    scale = SCALES[0] * draw.choice([1.0, 40.0, 245.0]).item()
    return {"q": q - 5, "keys": k + 5, "values": np.abs(v["values"]) + 1, "scale": scale}


def small_scale(v: Values, draw: Generator) -> dict[str, Any]:
    """Queries and keys of tens of thousands with a scale of 1e-10: who rounds their product to a half keeps nothing."""
    q, k = (np.clip(2.0**14 * np.nan_to_num(v[name].astype(np.float64)), -6e4, 6e4) for name in ("q", "keys"))
    return {"q": q, "keys": k, "scale": SCALES[0] * 2.0**-28}


def one_nan(v: Values, draw: Generator) -> dict[str, Any]:
    """A NaN in one query, which no other one sees, or in one key, which queries before it do not see."""
    name = "q" if draw.random() < 0.5 else "keys"
    changed = v[name].copy()
    if changed.size:
        changed.flat[draw.integers(changed.size)] = np.nan
    return {name: changed}


def flash_attention(v: Values) -> object:
    """FlashAttention-2 as it is in PyTorch, of the same queries over keys gathered before; `out` is not theirs."""
    import torch

    q, pieces = v["q"], v["pieces"]
    count = int((pieces[:, 1] > 0).sum())
    keys, values = (v[name].swapaxes(1, 2).flatten(0, 1) for name in ("keys", "values"))
    starts = torch.cat((pieces[:count, 0], pieces[count - 1 : count, :2].sum(1, dtype=torch.int32)))
    firsts = torch.zeros_like(starts)
    out = torch.ops.aten._flash_attention_forward(
        q, keys, values, starts, firsts, MOST, len(keys), 0.0, True, False, scale=float(v["scale"]),
        seqused_k=pieces[:count, 3].contiguous(),
    )  # fmt: skip
    return v["out"].copy_(out[0])


problem = Problem(
    name="prompt_attention",
    title="Attention of prompts of several sequences over a paged cache, grouped heads, float16",
    parameters=(
        array("q", "float16", "T", f"{GROUP}*K", f"{WIDTH}"),
        array("keys", "float16", "B", "K", f"{BLOCK_SIZE}", f"{WIDTH}"),
        array("values", "float16", "B", "K", f"{BLOCK_SIZE}", f"{WIDTH}"),
        array("tables", "int32", "S", "table_width"),
        array("pieces", "int32", "P", "4"),
        array("out", "float16", "T", f"{GROUP}*K", f"{WIDTH}", role="inout"),
        size("K"),
        size("P"),
        size("table_width"),
        scalar("scale"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="2",
    arrange=arrange,
    zeros=("T", "P"),
    without={
        "spikes": "a million is infinite in float16",
        "cancellation": "scores of millions: which key wins is decided by the last bits of float32",
        "nonfinite": "0 weights of an Inf are NaN where a tile is multiplied as a whole, as in PyTorch's own kernels",
        "not a number": "the same; NaN in queries and keys is a kind of its own",
    },
    public=(
        {"T": 130, "K": 1, "B": 37, "S": 2, "table_width": 12, "P": 5},
        {"T": 40, "K": 2, "B": 9, "S": 3, "table_width": 4, "P": 4},
        {"T": 5, "K": 3, "B": 1, "S": 1, "table_width": 1, "P": 2},
        {"T": 1, "K": 1, "B": 1, "S": 1, "table_width": 1, "P": 1},
    ),
    special={
        "one long sequence": one_long,
        "many short sequences": many_short,
        "edges of lengths": edges,
        "nothing seen": nothing_seen,
        "pieces in any order": any_order,
        "nothing behind the ends": unused,
        "rising": rising,
        "far below zero": far_below_zero,
        "small scale": small_scale,
        "one NaN": one_nan,
    },
    largest={"T": 132, "K": 2, "B": 40, "S": 4, "table_width": 12, "P": 5},
    widest={"T": 300, "B": 3000, "K": 5, "S": 300, "table_width": 40, "P": 300},
    wide_data=("normal", "many short sequences"),
    tiles=(8, 16, 32),
    observed={"T": 128, "K": 1, "B": 32, "S": 2, "table_width": 16, "P": 3},
    timed={"T": 4096, "K": 8, "B": 512, "S": 1, "table_width": 512, "P": 64},
    flops=f"2*T*K*{GROUP}*table_width*{BLOCK_SIZE}*{WIDTH}",
    bytes=f"4*K*({GROUP}*T+table_width*{BLOCK_SIZE})*{WIDTH}",
    alignment=16,  # the op checks it
    peers={"FlashAttention": Peer(flash_attention)},
)
