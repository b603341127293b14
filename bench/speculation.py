"""Speculative decoding on a CPU: tokens per second with guessed tokens and without, in turn.

python bench/speculation.py [repeats]

The model has the size of `gridstride train`'s default one, with random weights and one thread. Taken greedily from 512
tokens it falls into a loop: text that repeats itself. Drawn from 4,096 tokens it never repeats itself, and nothing is
guessed; drawn from 16 there would be a guess in nearly every step, and it is wrong. Each text is drawn twice, with and
without, a few tokens in turn, and must be the same.

A draft model is the first of eight layers, and what the other seven add is made small, so that it is right so often as
two models of one kind may be: the ratio belongs to that share of right guesses, which no pair of real models promises.
"""

from __future__ import annotations

import argparse
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
LEAST_GAIN = {None: 1.5, 0.2: 1.2, 0.1: 1.0}  # times as many tokens per second where guesses are right, by `draft`
MOST_LOSS = 0.03  # where they are not
DEEP, SHARP = 8, 10.0  # layers of a model that has a draft; by how much its logits are larger than random ones


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    vocabulary: int
    temperature: float
    pays: bool
    draft: float | None = None  # of a draft model: what the layers that it has not add, as a part of what they would


CASES = (
    Case("text that repeats itself", 512, 0.0, True),
    Case("text that does not, without a guess", 4096, 1.0, False),
    Case("text that does not, with a match at every step", 16, 1.0, False),
    Case("a draft model that is mostly right, greedy", 4096, 0.0, True, draft=0.2),
    Case("a draft model that is mostly right, drawn", 4096, 1.0, True, draft=0.1),
    Case("a draft model that is mostly wrong, drawn", 4096, 1.0, False, draft=0.5),
)


Models = tuple[Decoder, ...]


class Side:
    """An engine with its texts of one repeat, and what its steps took."""

    def __init__(self, models: Models, case: Case, number: int, sequences: int, *, guesses: bool) -> None:
        runners = [
            TorchRunner(each, blocks=sequences * MODEL.context // BLOCK_SIZE, block_size=BLOCK_SIZE) for each in models
        ]
        speculation = Speculation("ngram" if case.draft is None else "draft") if guesses else None
        draft = runners[1] if guesses and case.draft is not None else None
        self.engine = Engine(runners[0], speculation=speculation, draft=draft)
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


def models(case: Case) -> Models:
    """The model, and its draft model where it has one."""
    torch.manual_seed(0)
    layers = MODEL.layers if case.draft is None else DEEP
    large = Decoder(replace(MODEL, vocabulary=case.vocabulary, layers=layers)).eval()
    if case.draft is None:
        return (large,)
    with torch.no_grad():
        large.lm_head.weight.mul_(SHARP)
        for layer in large.layers[1:]:
            layer.self_attn.o_proj.weight.mul_(case.draft)
            layer.mlp.down_proj.weight.mul_(case.draft)
    small = Decoder(replace(MODEL, layers=1)).eval()
    small.load_state_dict({name: value for name, value in large.state_dict().items() if name in small.state_dict()})
    return large, small


def run(models: Models, case: Case, number: int, *, sequences: int) -> tuple[Side, Side]:
    """With and without: who has fewer tokens goes on, so that both meet the machine as it is at that moment."""
    plain, guessed = (Side(models, case, number, sequences, guesses=each) for each in (False, True))
    while not (plain.engine.idle and guessed.engine.idle):
        behind = plain if guessed.engine.idle or (not plain.engine.idle and plain.tokens <= guessed.tokens) else guessed
        behind.step()
    if plain.texts != guessed.texts:
        raise RuntimeError(f"{case.name}: another text with guesses than without")
    return plain, guessed


def row(case: Case, *, sequences: int, repeats: int) -> Row:
    made = models(case)
    run(made, case, 0, sequences=sequences)
    found = [run(made, case, number, sequences=sequences) for number in range(repeats)]
    ratio, of_cpu = (
        statistics.median(getattr(plain, name) / getattr(guessed, name) for plain, guessed in found)
        for name in ("seconds", "processor")
    )
    counts = {
        name: statistics.mean(guessed.detail[name] for _, guessed in found)
        for name in ("steps", "drafts", "draft_tokens", "accepted_tokens")
    }
    least = LEAST_GAIN[case.draft] if case.pays else 1 - MOST_LOSS
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
        for sequences in (1, 8) if case.draft is None else (1,):
            yield row(case, sequences=sequences, repeats=repeats)
            print(f"{case.name}, {sequences} at a time: done", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repeats", type=int, nargs="?", default=5)
    repeats = parser.parse_args().repeats
    started: dict[str, Any] = machine()
    torch.set_num_threads(1)
    publish("speculation", list(rows(repeats)), started)


if __name__ == "__main__":
    main()
