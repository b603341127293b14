"""A load, planned whole before the first request goes out: the same seed gives the same traffic to every server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from gridstride.serve.load.lengths import Lengths
from gridstride.serve.load.prompts import Prompt, PromptSource


@dataclass(frozen=True, slots=True)
class Planned:
    """A request of the plan; `at` is in seconds after the start."""

    prompt: Prompt
    max_tokens: int
    at: float
    seed: int

    def within(self, longest: int | None) -> Planned:
        """The same where it fits into a model's context; cut to it where its length is known and does not."""
        if longest is None or isinstance(self.prompt, str) or len(self.prompt) + self.max_tokens <= longest:
            return self
        prompt = self.prompt[: longest - 1]
        return replace(self, prompt=prompt, max_tokens=min(self.max_tokens, longest - len(prompt)))


def plan(
    prompts: PromptSource,
    requests: int,
    *,
    prompt_lengths: Lengths,
    output_lengths: Lengths,
    rate: float | None,
    seed: int,
) -> list[Planned]:
    """`rate` requests per second in the mean arrive as a Poisson process; None: all at once."""
    random = Random(seed)
    at, planned = 0.0, []
    for _ in range(requests):
        at += random.expovariate(rate) if rate else 0.0
        prompt = prompts.draw(random, prompt_lengths.draw(random))
        planned.append(Planned(prompt, output_lengths.draw(random), at, random.getrandbits(31)))
    return planned
