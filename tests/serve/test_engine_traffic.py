"""What holds whatever clients do: random traffic over a runner that checks every sequence's cache."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fake_runner import NOT_FINITE, RAISES, FakeRunner, expected, submit
from gridstride.serve.admission import Refused
from gridstride.serve.engine import Engine
from gridstride.serve.messages import Submit, Update
from gridstride.serve.policies import POLICIES

EOS = frozenset({5})
# Few tokens and few beginnings, so that prefixes are often shared.
PROMPTS = st.builds(
    lambda head, tail: head + tail,
    st.sampled_from([[], [1] * 8, [1] * 8 + [2] * 8, [1, 2, 3, 4] * 5]),
    st.lists(st.integers(0, 6), min_size=1, max_size=18),
)
SAMPLINGS = st.fixed_dictionaries(
    {"max_tokens": st.integers(1, 24)},
    optional={
        "ignore_eos": st.booleans(),
        "stop_tokens": st.sets(st.integers(0, 37), max_size=3).map(frozenset),
        "logprobs": st.sampled_from([None, 0]),
        "frequency_penalty": st.sampled_from([0.0, 0.5]),
    },
)


class Traffic(RuleBasedStateMachine):
    @initialize(
        policy=st.sampled_from(sorted(POLICIES)),
        shape=st.tuples(st.integers(2, 14), st.integers(1, 5), st.integers(8, 64), st.sampled_from([1, 3, 8])),
        most=st.integers(1, 5),
        more=st.integers(0, 12),
        reuse=st.booleans(),
    )
    def start(self, policy: str, shape: tuple[int, int, int, int], most: int, more: int, reuse: bool) -> None:
        blocks, size, context, steps = shape
        self.runner = FakeRunner(blocks=blocks, block_size=size, context=context, steps=steps)
        self.engine = Engine(
            self.runner,
            policy=policy,
            max_running=most,
            max_batch_tokens=most + more,
            prefix_reuse=reuse,
            eos=EOS,
        )
        self.runner.pool = self.engine._scheduler.pool
        self.accepted: dict[str, Submit] = {}
        self.got: dict[str, list[Update]] = {}
        self.aborted: set[str] = set()
        self.count = 0

    @rule(prompt=PROMPTS, sampling=SAMPLINGS, poison=st.sampled_from([None] * 8 + [RAISES, NOT_FINITE]))
    def submit(self, prompt: list[int], sampling: dict[str, object], poison: int | None) -> None:
        self.count += 1
        request = submit(str(self.count), prompt + ([poison] if poison else []), **sampling)
        size = len(request.prompt) + request.sampling.max_tokens
        fits = size <= self.runner.context and size - 1 <= self.runner.blocks * self.runner.block_size
        try:
            self.engine.submit(request)
        except Refused as refused:
            assert not fits
            assert str(int(refused.limit or 0)) in str(refused)
        else:
            assert fits
            self.accepted[request.id] = request

    @rule(number=st.integers(0, 40), again=st.booleans())
    def abort(self, number: int, again: bool) -> None:
        self._abort(str(number))
        if again:
            self._abort(str(number))

    @rule(steps=st.integers(1, 6))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    @precondition(lambda self: self.accepted)
    @rule(data=st.data())
    def abort_one_that_runs(self, data: st.DataObject) -> None:
        self._abort(data.draw(st.sampled_from(sorted(self.accepted))))

    @invariant()
    def every_block_is_used_cached_or_free(self) -> None:
        if not hasattr(self, "engine"):
            return
        pool, stats = self.engine._scheduler.pool, self.engine.stats()
        assert pool.free + stats.blocks_used + stats.blocks_cached == stats.blocks_total
        held = [block for request in self.engine._scheduler.running for block in request.blocks]
        assert sorted(set(held)) == [block for block, holders in enumerate(pool.holders) if holders]
        assert len(set(held)) == stats.blocks_used
        assert len(held) == sum(pool.holders)
        assert 0 <= stats.slots_wasted <= stats.blocks_used * self.runner.block_size

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        left = [request for id, request in self.accepted.items() if not self._ended(id)]
        for _ in range(1 + sum(len(r.prompt) + r.sampling.max_tokens for r in left)):  # one token a step at least
            self._step()
            self.every_block_is_used_cached_or_free()
        assert self.engine.idle
        assert all(self._ended(id) for id in self.accepted)
        assert set(self.got) == set(self.accepted)
        pool = self.engine._scheduler.pool
        assert pool.free + pool.cached == pool.total
        assert not self.engine._scheduler.tables._table.any()

    def _abort(self, id: str) -> None:
        if id in self.accepted and not self._ended(id):
            self.aborted.add(id)
        self.engine.abort(id)

    def _ended(self, id: str) -> bool:
        return any(update.finish for update in self.got.get(id, ()))

    def _step(self) -> None:
        for update in self.engine.step():
            assert not self._ended(update.id), "an update after the last one"
            self.got.setdefault(update.id, []).append(update)
            if update.finish:
                self._check_ended(update.id)

    def _check_ended(self, id: str) -> None:
        request, updates = self.accepted[id], self.got[id]
        said = [token for update in updates for token in update.tokens]
        finish, error = updates[-1].finish, updates[-1].error
        assert (error is not None) == (finish == "error")
        assert (finish == "abort") == (id in self.aborted)
        if finish == "error":
            assert {RAISES, NOT_FINITE} & set(request.prompt), error
            assert said == []
        elif finish == "abort":
            assert said == expected(request.prompt, request.sampling, EOS)[: len(said)]
        else:
            assert said == expected(request.prompt, request.sampling, EOS)
            assert finish == ("length" if not self._stopped(request, said[-1]) else "stop")
        if request.sampling.logprobs is not None:
            assert [p.own for u in updates for p in u.logprobs or ()] == [-float(token) for token in said]

    def _stopped(self, request: Submit, token: int) -> bool:
        s = request.sampling
        return token in s.stop_tokens or (token in EOS and not s.ignore_eos)


TestTraffic = Traffic.TestCase
TestTraffic.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
