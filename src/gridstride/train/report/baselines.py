"""What a model must beat: losses of simple counts on the same held-out text.

Trigrams back off to bigrams, these to single symbols, by Witten and Bell's interpolation (1991, method C):
p(c | ab) = (count(abc) + kinds(ab) p(c | b)) / (count(ab) + kinds(ab)), with kinds(ab) the number of different symbols
seen after ab. No symbol is ever given probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gridstride.train.data import tokenizer as bpe
from gridstride.train.data.prepare import TokenisedText
from gridstride.train.evaluate import bits_per_byte

Symbols = np.ndarray[Any, Any]
_MOST = 50_000_000  # symbols that are counted: sorting more takes minutes and gigabytes


@dataclass(frozen=True, slots=True)
class Baselines:
    """Bits per byte of held-out text; the token trigram in nats per token too, as a model's loss is given."""

    byte_entropy: float
    byte_trigram: float
    token_trigram: float
    token_trigram_nats: float


def measure(prepared: TokenisedText, *, stopped: Callable[[], bool] = lambda: False) -> Baselines | None:
    """Counts on the training text, losses on the held-out text; None where it was `stopped`, which is asked in between.

    Of 50 million symbols each part takes some seconds.
    """
    table = bpe.token_bytes(prepared.tokenizer())
    train, held = prepared.train()[:_MOST], prepared.validation()
    train_bytes, held_bytes = as_bytes(train, table)[:_MOST], as_bytes(held, table)
    parts = (
        partial(unigram_nats, train_bytes, held_bytes, symbols=256),
        partial(trigram_nats, train_bytes, held_bytes, symbols=256),
        partial(trigram_nats, train, held, symbols=len(table)),
    )
    nats: list[float] = []
    for part in parts:
        if stopped():
            return None
        nats.append(part())
    byte_entropy, byte_trigram, tokens = nats
    return Baselines(
        byte_entropy=byte_entropy / math.log(2),
        byte_trigram=byte_trigram / math.log(2),
        token_trigram=bits_per_byte(tokens, prepared),
        token_trigram_nats=tokens,
    )


def as_bytes(tokens: Symbols, table: list[bytes]) -> Symbols:
    """The text that tokens stand for, as uint8."""
    pieces = np.array(table, dtype=object)
    block = 1 << 20  # tokens at once: a list of objects takes eight bytes for each
    joined = b"".join(b"".join(pieces[tokens[i : i + block]]) for i in range(0, len(tokens), block))
    return np.frombuffer(joined, dtype=np.uint8)


def unigram_nats(train: Symbols, held: Symbols, *, symbols: int) -> float:
    """Cross-entropy per symbol of single symbols' shares; each is counted once more than it was seen."""
    return float(-np.log(_shares(train, symbols)[held]).mean())


def trigram_nats(train: Symbols, held: Symbols, *, symbols: int) -> float:
    """Cross-entropy per symbol of interpolated trigrams."""
    a, b, c = _shifted(train, symbols)
    ha, hb, hc = _shifted(held, symbols)
    chance = _shares(train, symbols)[hc]
    chance = _interpolated(b, c, hb, hc, chance, symbols)
    chance = _interpolated(a * symbols + b, c, ha * symbols + hb, hc, chance, symbols)
    return float(-np.log(chance).mean())


def _shares(train: Symbols, symbols: int) -> Symbols:
    counts = np.bincount(train, minlength=symbols) + 1.0
    shares: Symbols = counts / counts.sum()
    return shares


def _shifted(stream: Symbols, symbols: int) -> tuple[Symbols, Symbols, Symbols]:
    """Each symbol with the two before it; 0 stands before the first."""
    wide = np.concatenate([np.zeros(2, np.int64), np.asarray(stream, np.int64)])
    return wide[:-2], wide[1:-1], wide[2:]


def _interpolated(
    context: Symbols, symbol: Symbols, held_context: Symbols, held_symbol: Symbols, below: Symbols, symbols: int
) -> Symbols:
    """Witten-Bell: the share of a symbol after its context, with the shorter context's as what is not known."""
    pairs, pair_counts = np.unique(context * symbols + symbol, return_counts=True)
    contexts, starts = np.unique(pairs // symbols, return_index=True)
    kinds = np.diff(np.append(starts, len(pairs)))
    totals = np.add.reduceat(pair_counts, starts)
    pair_count = _counts_of(pairs, pair_counts, held_context * symbols + held_symbol)
    total = _counts_of(contexts, totals, held_context)
    kind = _counts_of(contexts, kinds, held_context)
    has_context = total > 0
    result: Symbols = np.where(has_context, (pair_count + kind * below) / np.where(has_context, total + kind, 1), below)
    return result


def _counts_of(keys: Symbols, values: Symbols, queries: Symbols) -> Symbols:
    positions = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    counts_found: Symbols = np.where(keys[positions] == queries, values[positions], 0)
    return counts_found
