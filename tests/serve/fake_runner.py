"""A runner without a model: its cache holds (token, position) per slot, and it draws from what it finds there.

So a sequence whose cache is not exactly its own history is caught when the next token is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridstride.serve.engine.batch import Batch, Draw, RunnerCode, Sampled, TokenLogprobs
from gridstride.serve.engine.blocks import BlockPool
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit, Update
from gridstride.serve.engine.sampling import Sampling

VOCABULARY = 40
RAISES, NOT_FINITE = 38, 39
"""Tokens in a prompt at which the runner raises, and at which the logits of every sixth row are bad."""


def next_token(history: Sequence[int]) -> int:
    """What the fake model says after `history`; neither of the two bad tokens."""
    return sum((place + 3) * (token + 1) for place, token in enumerate(history)) * 7 % (VOCABULARY - 2)


def repeating(history: Sequence[int]) -> int:
    """Another fake model, that mostly says what it said four tokens before, and goes astray now and then."""
    copied = len(history) >= 4 and len(history) % 13 > 2
    return history[-4] % (VOCABULARY - 2) if copied else next_token(history)


Text = Callable[[Sequence[int]], int]


def expected(
    prompt: Sequence[int], sampling: Sampling, eos: frozenset[int] = frozenset(), *, text: Text = next_token
) -> list[int]:
    """What a request gets when all is well."""
    history = list(prompt)
    for _ in range(sampling.max_tokens):
        history.append(text(history))
        if history[-1] in sampling.stop_tokens | (frozenset() if sampling.ignore_eos else eos):
            break
    return history[len(prompt) :]


class FakeRunner:
    vocabulary = VOCABULARY
    width = adapters = 0
    verifies = True
    code = RunnerCode("pytorch", "")

    def __init__(
        self, *, blocks: int = 12, block_size: int = 4, context: int = 64, steps: int = 1, text: Text = next_token
    ) -> None:
        self.blocks, self.block_size, self.context = blocks, block_size, context
        self.steps = self.steps_alone = steps
        self.text = text
        self.cache = np.full((blocks * block_size, 2), -1, np.int64)
        self.pool: BlockPool | None = None  # where given: written blocks must have one holder and be known to nobody
        self.batches: list[Batch] = []

    def execute(self, batch: Batch) -> Sampled:
        self.batches.append(batch)
        self._check_shapes(batch)
        sequences = range(len(batch.lengths))
        self._write(batch.slots, batch.tokens, batch.positions)
        histories = [self._history(batch, s, int(batch.lengths[s])) for s in sequences]
        if any(RAISES in history for history in histories):
            raise RuntimeError("a token that this model cannot bear")
        tokens = np.full((len(batch.sampled), batch.steps), -1, np.int64)
        for m, (row, draw) in enumerate(zip(batch.sampled.tolist(), batch.draws, strict=True)):
            s = int(np.searchsorted(batch.starts, row, side="right")) - 1
            history = histories[s][: int(batch.positions[row]) + 1]  # proposed tokens may come behind it
            self._check_draw(draw, history)
            ahead = batch.steps if np.diff(batch.starts)[s] == 1 else 1
            tokens[m, :ahead] = self._go_on(batch, s, history, steps=ahead)
        logprobs = tuple(_logprobs(tokens[m], d.sampling.logprobs) for m, d in enumerate(batch.draws))
        return Sampled(tokens, logprobs)

    def _check_draw(self, draw: Draw, history: list[int]) -> None:
        assert history == [*draw.prompt, *draw.output]
        assert draw.index == len(draw.output)

    def _go_on(self, batch: Batch, s: int, history: list[int], *, steps: int) -> list[int]:
        """The sequence's next tokens, each but the last written to its slot as a device would."""
        out: list[int] = []
        for step in range(steps):
            bad = NOT_FINITE in history and len(history) % 6 == 0
            out.append(-1 if bad else self.text(history))
            if step + 1 < steps:
                position = len(history)
                slot = batch.blocks[s, position // self.block_size] * self.block_size + position % self.block_size
                self._write(np.array([slot]), np.array([out[-1]]), np.array([position]))
                history = self._history(batch, s, position + 1)
        return out

    def _write(self, slots: np.ndarray, tokens: np.ndarray, positions: np.ndarray) -> None:
        written = set(zip(slots.tolist(), tokens.tolist(), positions.tolist(), strict=True))
        assert len(set(slots.tolist())) == len(written), "two tokens for one slot"  # a draft may write one twice
        for block in set((slots // self.block_size).tolist()) if self.pool else ():
            assert self.pool.holders[block] == 1, f"block {block} is written, but has several holders"
            assert block not in self.pool._keys, f"block {block} is written, but others may read it"
        self.cache[slots] = np.stack((tokens, positions), axis=1)

    def _history(self, batch: Batch, s: int, length: int) -> list[int]:
        places = np.arange(length)
        slots = batch.blocks[s, places // self.block_size].astype(np.int64) * self.block_size
        found = self.cache[slots + places % self.block_size]
        assert found[:, 1].tolist() == places.tolist(), "another sequence's tokens, or none"
        return found[:, 0].tolist()

    def _check_shapes(self, batch: Batch) -> None:
        counts = np.diff(batch.starts)
        assert batch.starts[0] == 0
        assert batch.starts[-1] == len(batch.tokens) == len(batch.positions) == len(batch.slots)
        assert (counts > 0).all()
        assert len(counts) == len(batch.lengths) == len(batch.blocks)
        assert len(batch.sampled) == len(batch.draws)
        assert (batch.positions < self.context).all()
        single = np.flatnonzero(counts == 1)
        assert batch.steps == 1 or set(batch.starts[1:][single] - 1) <= set(batch.sampled.tolist())
        assert batch.steps <= (self.steps if len(counts) > 1 else self.steps_alone)
        rows = np.repeat(np.arange(len(counts)), counts)
        block = batch.blocks[rows, batch.positions // self.block_size]
        assert (batch.slots == block * self.block_size + batch.positions % self.block_size).all()
        assert (batch.positions[batch.starts[1:] - 1] == batch.lengths - 1).all()


class FakeAhead(FakeRunner):
    """A runner that takes batches ahead: what was wrong with one that followed no failure is kept for the test."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.wrong: list[AssertionError] = []
        self.most_under_way = 0
        self._under_way: list[FakeQueued] = []
        self._last = np.empty(0, np.int64)  # token of each draw of the batch before
        self._failed = False

    def queue(self, batch: Batch) -> FakeQueued:
        assert all(draw.plain for draw in batch.draws)
        assert not batch.reads
        if batch.sources is not None:
            unknown = np.flatnonzero(batch.sources >= 0)
            assert (np.diff(batch.starts)[unknown] == 1).all()
            tokens = batch.tokens.copy()
            drawn = self._last[batch.sources[unknown]] if not self._failed else 0
            tokens[batch.starts[unknown]] = np.maximum(drawn, 0)
            batch = replace(batch, tokens=tokens, sources=None)
        queued = FakeQueued(self, self._tried(batch))
        self._under_way.append(queued)
        self.most_under_way = max(self.most_under_way, len(self._under_way))
        return queued

    def execute(self, batch: Batch) -> Sampled:
        assert batch.sources is None
        assert self._under_way == [], "a batch that follows nobody while another is under way"
        return super().execute(batch)

    def read(self, queued: FakeQueued) -> None:
        assert queued is self._under_way.pop(0), "batches are read in their order"
        self._failed &= bool(self._under_way)

    def _tried(self, batch: Batch) -> Sampled | Exception:
        try:
            sampled = super().execute(batch)
        except Exception as error:
            if isinstance(error, AssertionError) and not self._failed:
                self.wrong.append(error)
            self._failed = True
            return error
        alone = np.diff(batch.starts)[np.searchsorted(batch.starts, batch.sampled, side="right") - 1] == 1
        self._last = (
            np.where(alone, sampled.tokens[:, -1], sampled.tokens[:, 0]) if len(alone) else sampled.tokens[:, 0]
        )
        return sampled

    def _check_draw(self, draw: Draw, history: list[int]) -> None:
        known = [*draw.prompt, *draw.output]
        assert history[: len(known)] == known
        assert len(history) == len(draw.prompt) + draw.index


@dataclass
class FakeQueued:
    runner: FakeAhead
    result: Sampled | Exception

    def read(self) -> Sampled:
        self.runner.read(self)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class FakeDraft(FakeRunner):
    """A draft model, whose failures the engine bears: what its cache should not have held is kept for the test."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.wrong: list[AssertionError] = []

    def execute(self, batch: Batch) -> Sampled:
        try:
            return super().execute(batch)
        except AssertionError as error:
            self.wrong.append(error)
            raise


def _logprobs(tokens: np.ndarray, wanted: int | None) -> tuple[TokenLogprobs, ...] | None:
    return None if wanted is None else tuple(TokenLogprobs(-float(token), ()) for token in tokens)


def submit(id: str, prompt: Sequence[int], *, adapter: int = 0, **sampling: Any) -> Submit:
    wishes = Sampling(**sampling)
    return Submit(id=id, prompt=tuple(prompt), sampling=wishes, arrived=time.monotonic(), adapter=adapter)


def run(engine: Engine, *, steps: int = 10_000) -> dict[str, list[Update]]:
    """Steps until idle: the updates of each request."""
    found: dict[str, list[Update]] = {}
    for _ in range(steps):
        if engine.idle:
            return found
        for update in engine.step():
            found.setdefault(update.id, []).append(update)
    raise AssertionError(f"not idle after {steps} steps: {engine.stats()}")


def tokens(updates: Sequence[Update]) -> list[int]:
    return [token for update in updates for token in update.tokens]
