"""How a request wants its tokens drawn, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """OpenAI's fields and vLLM's additions; temperature 0 takes the likeliest token."""

    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    min_p: float = 0.0  # least share of the likeliest token's probability
    seed: int = 0  # with a token's index it gives the token's random number: see `uniform`
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


def uniform(seed: int, index: int) -> float:
    """The random number in [0, 1) of a request's token `index`: the same in any batch, on any device.

    SplitMix64's finaliser over seed and index (Steele, Lea, Flood 2014).
    """
    mask = (1 << 64) - 1
    z = (seed * 0x9E3779B97F4A7C15 + (index + 1) * 0xD1B54A32D192ED03) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53
