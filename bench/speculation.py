"""Speculative decoding on a CPU: tokens per second with guessed tokens and without, in turn.

python bench/speculation.py [repeats]

The model has the size of `gridstride train`'s default one, with random weights and one thread. Taken greedily from 512
tokens it falls into a loop: text that repeats itself. Drawn from 4,096 tokens it never repeats itself, and nothing is
guessed; drawn from 16 there would be a guess in nearly every step, and it is wrong. Each text is drawn twice, with and
without, a few tokens in turn, and must be the same.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from common import Row, machine, publish

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.speculation import Speculation
from gridstride.serve.runner.build import BLOCK_SIZE
from gridstride.serve.runner.torch.torch_runner import TorchRunner

MODEL = DecoderConfig(
    vocabulary=4096, width=256, layers=4, heads=4, kv_heads=4, head_width=64, hidden=704, context=512, tied=False
)
TOKENS, PROMPT = 384, 32
LEAST_GAIN = 1.5  # times as many tokens per second where text repeats itself
MOST_LOSS = 0.03  # where it does not


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    vocabulary: int
    temperature: float
    repeats: bool


CASES = (
    Case("text that repeats itself", 512, 0.0, True),
    Case("text that does not, without a guess", 4096, 1.0, False),
    Case("text that does not, with a match at every step", 16, 1.0, False),
)


class Side:
    """An engine with its texts of one repeat, and what its steps took."""

    def __init__(
        self, decoder: Decoder, case: Case, number: int, sequences: int, speculation: Speculation | None
    ) -> None:
        blocks = sequences * MODEL.context // BLOCK_SIZE
        self.engine = Engine(TorchRunner(decoder, blocks=blocks, block_size=BLOCK_SIZE), speculation=speculation)
        self.texts: dict[str, list[int]] = {}
        self.tokens = 0
        self.seconds = self.processor = 0.0
        for seed in range(number * sequences, (number + 1) * sequences):
            sampling = Sampling(max_tokens=TOKENS, temperature=case.temperature, seed=seed)
            prompt = tuple((seed + 7 * place * place) % case.vocabulary for place in range(PROMPT))
            self.engine.submit(Submit(id=str(seed), prompt=prompt, sampling=sampling, arrived=0.0))

    def step(self) -> None:
        start, used = time.perf_counter(), time.process_time()
        updates = self.engine.step()
        self.seconds += time.perf_counter() - start
        self.processor += time.process_time() - used
        for update in updates:
            self.texts.setdefault(update.id, []).extend(update.tokens)
            self.tokens += len(update.tokens)

    @property
    def detail(self) -> dict[str, float]:
        stats = self.engine.stats()
        return {
            "tokens_per_second": self.tokens / self.seconds, "tokens_per_cpu_second": self.tokens / self.processor,
            "steps": stats.steps, "drafts": stats.drafts, "draft_tokens": stats.draft_tokens,
            "accepted_tokens": stats.accepted_tokens,
        }  # fmt: skip


def run(decoder: Decoder, case: Case, number: int, *, sequences: int) -> tuple[Side, Side]:
    """With and without: who has fewer tokens goes on, so that both meet the machine as it is at that moment."""
    plain, guessed = (Side(decoder, case, number, sequences, each) for each in (None, Speculation()))
    while not (plain.engine.idle and guessed.engine.idle):
        behind = plain if guessed.engine.idle or (not plain.engine.idle and plain.tokens <= guessed.tokens) else guessed
        behind.step()
    if plain.texts != guessed.texts:
        raise RuntimeError(f"{case.name}: another text with guesses than without")
    return plain, guessed


def row(case: Case, *, sequences: int, repeats: int) -> Row:
    torch.manual_seed(0)
    decoder = Decoder(replace(MODEL, vocabulary=case.vocabulary)).eval()
    run(decoder, case, 0, sequences=sequences)
    found = [run(decoder, case, number, sequences=sequences) for number in range(repeats)]
    ratio, of_cpu = (
        statistics.median(getattr(plain, name) / getattr(guessed, name) for plain, guessed in found)
        for name in ("seconds", "processor")
    )
    counts = {
        name: statistics.mean(guessed.detail[name] for _, guessed in found)
        for name in ("steps", "drafts", "draft_tokens", "accepted_tokens")
    }
    least = LEAST_GAIN if case.repeats else 1 - MOST_LOSS
    right = counts["accepted_tokens"] / max(counts["draft_tokens"], 1)
    return Row(
        name=f"{case.name}, {sequences} at a time",
        figure=f"{ratio:.2f}x the tokens/s ({of_cpu:.2f}x by processor time); "
        f"{counts['drafts']:.0f} guesses in {counts['steps']:.0f} steps, {right:.0%} of their tokens right",
        target=f">= {least}x",
        met=of_cpu >= least,
        detail={
            "ratio": ratio, "ratio_of_cpu_time": of_cpu,
            "runs": [{"plain": plain.detail, "guessed": guessed.detail} for plain, guessed in found],
        },
    )  # fmt: skip


def rows(repeats: int) -> Iterator[Row]:
    for case in CASES:
        for sequences in (1, 8):
            yield row(case, sequences=sequences, repeats=repeats)
            print(f"{case.name}, {sequences} at a time: done", file=sys.stderr, flush=True)


def main(words: list[str]) -> None:
    started: dict[str, Any] = machine()
    torch.set_num_threads(1)
    publish("speculation", list(rows(int(words[0]) if words else 7)), started)


if __name__ == "__main__":
    main(sys.argv[1:])
