"""Figures of a model on texts and on questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from gridstride.serve.engine.batch import TokenLogprobs
from gridstride.serve.evaluate.tasks import ChoiceQuestion, TaskError

Note = Callable[[int, int], None]
"""Told how many of how many prompts are done."""


class ScoredModel(Protocol):
    """What is asked: `gridstride.serve.local.Local` can say it."""

    def encode(self, text: str, *, special: bool = True) -> list[int]: ...
    def scores(self, prompts: Iterable[Sequence[int]]) -> Iterator[tuple[int, tuple[TokenLogprobs, ...]]]:
        """Of each prompt, by its number and in any order, its tokens' log-probabilities but the first's."""
        ...


@dataclass(frozen=True, slots=True)
class Perplexity:
    texts: int
    tokens: int  # that were predicted
    bytes: int  # of the texts
    nats_per_token: float
    perplexity: float  # e to the power of that
    bits_per_byte: float  # independent of the tokenizer


@dataclass(frozen=True, slots=True)
class Accuracy:
    questions: int
    accuracy: float  # the likeliest choice is the right one
    accuracy_stderr: float
    accuracy_per_byte: float  # the same of log-probabilities divided by the choices' lengths in bytes
    accuracy_per_byte_stderr: float
    cut: int  # prompts that lost their beginning to fit into the context


def windows(count: int, window: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, first) of windows over `count` tokens: those from `first` to `end` are predicted in this one.

    `stride` is below `window`: the first token of a window is predicted by nothing.
    """
    assert stride < window
    end, first = min(window, count), 1
    yield 0, end, first
    while end < count:
        first, end = end, min(end + stride, count)
        yield max(0, end - window), end, first


def perplexity(model: ScoredModel, texts: Sequence[str], *, window: int, stride: int, note: Note) -> Perplexity:
    """Of all texts together; each token has at least `window` - `stride` tokens before it, where there are so many.

    TaskError where no text has two tokens: the first of each is predicted by nothing.
    """
    prompts: list[Sequence[int]] = []
    skipped: list[int] = []  # tokens at a window's beginning that were predicted before
    for text in texts:
        ids = model.encode(text)
        for start, end, first in windows(len(ids), window, stride):
            if end - start > 1:
                prompts.append(ids[start:end])
                skipped.append(first - start - 1)
    if not prompts:
        raise TaskError("nothing can be predicted: no text has more than one token")
    nats, tokens = 0.0, 0
    for done, (number, scores) in enumerate(model.scores(prompts), 1):
        new = scores[skipped[number] :]
        nats -= math.fsum(logprob.own for logprob in new)
        tokens += len(new)
        note(done, len(prompts))
    size = sum(len(text.encode()) for text in texts)
    mean = nats / tokens
    return Perplexity(len(texts), tokens, size, mean, math.exp(min(mean, 700.0)), nats / math.log(2) / size)


def accuracy(model: ScoredModel, questions: Sequence[ChoiceQuestion], *, longest: int, note: Note) -> Accuracy:
    """How often the likeliest choice is the right one."""
    prompts: list[Sequence[int]] = []
    lengths: list[int] = []  # tokens of the choice, at the prompt's end
    cut = 0
    for question in questions:
        for choice in question.choices:
            ids, length = _continued(model, question.prompt, choice)
            cut += len(ids) > longest
            prompts.append(ids[-longest:])
            lengths.append(min(length, longest - 1))
    sums = [0.0] * len(prompts)
    for done, (number, scores) in enumerate(model.scores(prompts), 1):
        sums[number] = math.fsum(score.own for score in scores[len(scores) - lengths[number] :])
        note(done, len(prompts))
    plain, per_byte = [], []
    first = 0
    for question in questions:
        mine = sums[first : first + len(question.choices)]
        first += len(mine)
        scaled = [total / len(choice.encode()) for total, choice in zip(mine, question.choices, strict=True)]
        plain.append(mine.index(max(mine)) == question.answer)
        per_byte.append(scaled.index(max(scaled)) == question.answer)
    return Accuracy(len(questions), *_share(plain), *_share(per_byte), cut)


def as_json(figures: Perplexity | Accuracy) -> dict[str, Any]:
    """Its kind and its figures."""
    kind = "perplexity" if isinstance(figures, Perplexity) else "choices"
    return {"kind": kind, **asdict(figures)}


def _continued(model: ScoredModel, prompt: str, choice: str) -> tuple[list[int], int]:
    """Tokens of prompt and choice, and how many are the choice's; white space between them belongs to the choice."""
    context = prompt.rstrip()
    choice = prompt[len(context) :] + choice if context != prompt else f" {choice}" if context else choice
    ids, prefix_length = model.encode(context + choice), len(model.encode(context))
    return ids, max(1, len(ids) - max(prefix_length, 1))


def _share(right: Sequence[bool]) -> tuple[float, float]:
    """The share, and its standard error."""
    share = sum(right) / len(right)
    return share, math.sqrt(share * (1 - share) / max(len(right) - 1, 1))
