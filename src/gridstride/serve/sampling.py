"""How a request wants its tokens drawn, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """OpenAI's fields and vLLM's additions; temperature 0 takes the likeliest token."""

    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    min_p: float = 0.0  # least share of the likeliest token's probability
    seed: int = 0  # with a token's index it gives the token's random number: see `uniforms`
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: dict[int, float] = field(default_factory=dict)
    logprobs: int | None = None  # how many alternatives beside the token's own; None: none at all
    stop_tokens: frozenset[int] = frozenset()  # these end the request and are part of its tokens
    ignore_eos: bool = False
    schema: str | None = None  # JSON schema that the text must satisfy; "" for any JSON object

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def plain(self) -> bool:
        """Whether a token follows from its logits alone, and nothing but the token is wanted."""
        touched = self.logit_bias or self.presence_penalty or self.frequency_penalty or self.repetition_penalty != 1.0
        return not touched and self.logprobs is None and self.schema is None


def uniforms(seeds: Sequence[int], index: NDArray[Any]) -> NDArray[np.float64]:
    """Random numbers [..., S] in [0, 1) of tokens `index` [..., S] of requests with `seeds` [S].

    They are the same in any batch, on any device: SplitMix64's finaliser over seed and index (Steele, Lea, Flood 2014).
    """
    start = np.array([seed * 0x9E3779B97F4A7C15 & _MASK for seed in seeds], np.uint64)
    z = start + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
