"""What holds whatever clients do: random traffic over a runner that checks every sequence's cache."""

from __future__ import annotations

import random

import pytest
from fake_runner import NOT_FINITE, RAISES, FakeAhead, FakeDraft, FakeRunner, expected, next_token, repeating, submit
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit, Update
from gridstride.serve.engine.policies import POLICIES
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.engine.speculation import Speculation

EOS = frozenset({5})
HEADS = [], [1] * 8, [1] * 8 + [2] * 8, [1, 2, 3, 4] * 5  # few beginnings, so that prefixes are often shared


class Traffic:
    """Clients of one engine: each step some submit, some go away, and every invariant is checked."""

    def __init__(self, seed: int) -> None:
        self.random = pick = random.Random(seed)
        ahead = pick.random() < 0.5
        self.runner = (FakeAhead if ahead else FakeRunner)(
            blocks=pick.randint(10, 50),
            block_size=pick.randint(1, 5),
            context=pick.randint(24, 80),
            steps=pick.choice([1, 1, 3, 8]),
            text=pick.choice([next_token, repeating]),
        )
        most = pick.randint(2, 8)
        method = pick.choice([None, "ngram", "draft"]) if not ahead else None
        sizes = {"blocks": self.runner.blocks, "block_size": self.runner.block_size, "context": self.runner.context}
        self.draft = FakeDraft(**sizes, text=pick.choice([next_token, repeating]))
        self.engine = Engine(
            self.runner,
            Batching(
                policy=pick.choice(["continuous"] * 4 + sorted(POLICIES)),
                max_running=most,
                max_batch_tokens=most + pick.randint(0, 40),
                prefix_reuse=pick.random() < 0.7,
                ahead_from=pick.randint(1, 4),
            ),
            eos=EOS,
            speculation=Speculation(method, pick.randint(1, 16)) if method else None,
            draft=self.draft if method == "draft" else None,
        )
        self.runner.pool = self.engine._scheduler.pool
        self.accepted: dict[str, Submit] = {}
        self.got: dict[str, list[Update]] = {}
        self.aborted: set[str] = set()

    def run(self, steps: int) -> None:
        """Random traffic for so many steps, then until all has ended."""
        pick = self.random
        errors, aborts, arrivals = (pick.choice(rates) for rates in ((0, 0.1), (0, 0, 0.1), (0.1, 0.5, 2)))
        for _ in range(steps):
            while pick.random() < arrivals / (1 + arrivals):
                self._submit(self._prompt(errors), self._sampling())
            if pick.random() < aborts:
                self._abort(str(pick.randint(0, len(self.got) + 3)))
            self._step()
        left = [request for id, request in self.accepted.items() if not self._ended(id)]
        # One token a step at least; once in its life a sequence may be set back by what it has guessed.
        for _ in range(1 + sum(2 * len(r.prompt) + r.sampling.max_tokens for r in left)):
            self._step()
        self._check_quiet()

    def _prompt(self, errors: float) -> list[int]:
        pick = self.random
        prompt = pick.choice(HEADS) + [pick.randint(0, 6) for _ in range(pick.randint(1, 18))]
        if pick.random() < errors:
            prompt.insert(pick.randint(0, len(prompt)), pick.choice([RAISES, NOT_FINITE]))
        return prompt

    def _sampling(self) -> dict[str, object]:
        pick = self.random
        wishes: dict[str, object] = {"max_tokens": pick.randint(1, 40), "ignore_eos": pick.random() < 0.7}
        if pick.random() < 0.2:
            wishes["stop_tokens"] = frozenset(pick.sample(range(38), 2))
        if pick.random() < 0.1:
            wishes["logprobs"] = 0
        if pick.random() < 0.1:
            wishes["frequency_penalty"] = 0.5
        return wishes

    def _check_blocks(self) -> None:
        """Every block is used, cached or free, and used ones are those that running sequences hold."""
        pool, stats = self.engine._scheduler.pool, self.engine.stats()
        assert pool.free + stats.blocks_used + stats.blocks_cached == stats.blocks_total
        held = [block for request in self.engine._scheduler.running for block in request.blocks]
        assert sorted(set(held)) == [block for block, holders in enumerate(pool.holders) if holders]
        assert len(set(held)) == stats.blocks_used
        assert len(held) == sum(pool.holders)
        if self.runner.steps == 1:  # else some have blocks for the steps that they may run ahead
            for request in self.engine._scheduler.running:
                assert (len(request.blocks) - 1) * pool.block_size < request.length, "blocks of rejected tokens"
        assert 0 <= stats.slots_wasted <= stats.blocks_used * self.runner.block_size

    def _check_quiet(self) -> None:
        """All accepted requests have ended once, and nothing is left of them but cached prefixes."""
        assert self.engine.idle
        assert self.draft.wrong == []
        assert getattr(self.runner, "wrong", []) == []
        assert all(self._ended(id) for id in self.accepted)
        assert set(self.got) == set(self.accepted)
        pool = self.engine._scheduler.pool
        assert pool.free + pool.cached == pool.total
        assert set(pool._keys) == set(pool._cached)
        assert not self.engine._scheduler.tables._table.any()

    def _submit(self, prompt: list[int], sampling: dict[str, object]) -> None:
        request = submit(str(len(self.accepted)), prompt, **sampling)
        size = len(request.prompt) + request.sampling.max_tokens
        fits = size <= self.runner.context and size - 1 <= self.runner.blocks * self.runner.block_size
        if fits:
            self.engine.submit(request)
            self.accepted[request.id] = request
        else:
            with pytest.raises(Refused, match=r"the model's context is \d+|the cache has room for \d+"):
                self.engine.submit(request)

    def _abort(self, id: str) -> None:
        """Once or twice, in any state, known or not."""
        if id in self.accepted and not self._ended(id):
            self.aborted.add(id)
        for _ in range(self.random.randint(1, 2)):
            self.engine.abort(id)

    def _ended(self, id: str) -> bool:
        return any(update.finish for update in self.got.get(id, ()))

    def _step(self) -> None:
        for update in self.engine.step():
            assert not self._ended(update.id), "an update after the last one"
            self.got.setdefault(update.id, []).append(update)
            if update.finish:
                self._check_ended(update.id)
        self._check_blocks()

    def _check_ended(self, id: str) -> None:
        request, updates = self.accepted[id], self.got[id]
        said = [token for update in updates for token in update.tokens]
        finish, error = updates[-1].finish, updates[-1].error
        assert (error is not None) == (finish == "error")
        assert (finish == "abort") == (id in self.aborted)
        if finish == "error":
            assert {RAISES, NOT_FINITE} & set(request.prompt), error
            assert said == self._expected(request)[: len(said)]
            assert NOT_FINITE in request.prompt or said == []
        elif finish == "abort":
            assert said == self._expected(request)[: len(said)]
        else:
            assert said == self._expected(request)
            assert finish == ("length" if not self._stopped(request, said[-1]) else "stop")
        if request.sampling.logprobs is not None:
            assert [p.own for u in updates for p in u.logprobs or ()] == [-float(token) for token in said]

    def _expected(self, request: Submit) -> list[int]:
        return expected(request.prompt, request.sampling, EOS, text=self.runner.text)

    def _stopped(self, request: Submit, token: int) -> bool:
        s = request.sampling
        return token in s.stop_tokens or (token in EOS and not s.ignore_eos)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_request_ends_once_with_its_own_tokens_and_no_block_is_lost(seed: int) -> None:
    Traffic(seed).run(60)
