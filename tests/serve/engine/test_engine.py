"""What an engine does for one request and between a few; what holds for all is in test_scheduler.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_runner import NOT_FINITE, RAISES, FakeRunner, expected, run, submit, tokens

from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.batch import Batch, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching


def roomy(steps: int = 1, eos: frozenset[int] = frozenset(), **batching: Any) -> tuple[FakeRunner, Engine]:
    runner = FakeRunner(blocks=200, block_size=4, context=200, steps=steps)
    return runner, Engine(runner, Batching(**batching), eos=eos)


def test_an_idle_engine_does_nothing() -> None:
    runner, engine = roomy()
    assert engine.idle
    assert engine.step() == []
    assert runner.batches == []


def test_a_stop_token_ends_a_request_and_is_its_last() -> None:
    wanted = expected([1, 2], Sampling(max_tokens=20))
    _, engine = roomy()
    engine.submit(submit("a", [1, 2], max_tokens=20, stop_tokens=frozenset({wanted[3]})))
    (updates,) = run(engine).values()
    assert tokens(updates) == wanted[: wanted.index(wanted[3]) + 1]
    assert updates[-1].finish == "stop"


def test_eos_ends_a_request_unless_it_is_ignored() -> None:
    wanted = expected([1, 2], Sampling(max_tokens=20))
    _, engine = roomy(eos=frozenset({wanted[2]}))
    engine.submit(submit("a", [1, 2], max_tokens=20))
    engine.submit(submit("b", [1, 2], max_tokens=20, ignore_eos=True))
    found = run(engine)
    assert tokens(found["a"]) == wanted[: wanted.index(wanted[2]) + 1]
    assert tokens(found["b"]) == wanted


def test_the_first_update_tells_how_long_the_request_waited_and_what_was_cached() -> None:
    _, engine = roomy(max_running=1, max_batch_tokens=64)
    for id in "ab":
        engine.submit(submit(id, [1] * 12, max_tokens=3))
    found = run(engine)
    assert [update.queued_seconds is None for update in found["b"]] == [False, True, True]
    assert found["a"][0].cached_tokens == 0
    assert found["b"][0].cached_tokens == 8
    assert (engine.stats().prefix_queries, engine.stats().prefix_hits) == (24, 8)


def test_without_reuse_nothing_is_looked_up_or_kept() -> None:
    _, engine = roomy(prefix_reuse=False, max_running=1)
    for id in "ab":
        engine.submit(submit(id, [1] * 12, max_tokens=3))
    run(engine)
    stats = engine.stats()
    assert (stats.prefix_queries, stats.blocks_cached) == (0, 0)


def test_prompts_are_taken_in_chunks_beside_decoding_sequences() -> None:
    runner, engine = roomy(max_batch_tokens=8, max_running=8)
    engine.submit(submit("short", [1, 2, 3], max_tokens=30))
    engine.step()
    engine.submit(submit("long", [4] * 50, max_tokens=2))
    run(engine)
    mixed = [np.diff(batch.starts).tolist() for batch in runner.batches if len(batch.lengths) == 2]
    assert mixed[:7] == [[1, 7]] * 7
    assert all(len(batch.tokens) <= 8 for batch in runner.batches)


def test_an_abort_frees_its_blocks_at_once() -> None:
    _, engine = roomy(prefix_reuse=False)
    engine.submit(submit("a", [1] * 30, max_tokens=50))
    engine.step()
    assert engine.stats().blocks_used > 0
    engine.abort("a")
    assert engine.stats().blocks_used == 0
    assert [(u.id, u.finish) for u in engine.step()] == [("a", "abort")]
    assert engine.idle


def test_an_abort_of_what_is_not_there_does_nothing() -> None:
    _, engine = roomy()
    engine.abort("nobody")
    assert engine.idle


def test_an_id_can_be_used_again_once_its_request_has_ended() -> None:
    _, engine = roomy()
    engine.submit(submit("a", [1], max_tokens=1))
    with pytest.raises(Refused, match="'a' has not ended yet"):
        engine.submit(submit("a", [1], max_tokens=1))
    engine.abort("a")
    with pytest.raises(Refused, match="'a' has not ended yet"):  # its last update is still to come
        engine.submit(submit("a", [1], max_tokens=1))
    assert [update.finish for update in engine.step()] == ["abort"]
    engine.submit(submit("a", [1], max_tokens=1))


def test_a_runner_that_raises_ends_the_request_it_raised_for() -> None:
    _, engine = roomy()
    engine.submit(submit("good", [1, 2], max_tokens=20))
    engine.submit(submit("bad", [3, RAISES], max_tokens=20))
    engine.submit(submit("late", [5, 6], max_tokens=20))
    found = run(engine)
    assert found["bad"][-1].error == "the model could not go on: RuntimeError: a token that this model cannot bear"
    assert tokens(found["good"]) == expected([1, 2], Sampling(max_tokens=20))
    assert tokens(found["late"]) == expected([5, 6], Sampling(max_tokens=20))
    assert engine.failed_steps == 0


@pytest.mark.parametrize("steps", [1, 4])
def test_bad_logits_end_their_request_after_the_tokens_before_them(steps: int) -> None:
    _, engine = roomy(steps=steps)
    engine.submit(submit("good", [1, 2], max_tokens=20))
    engine.submit(submit("bad", [3, NOT_FINITE], max_tokens=20))
    found = run(engine)
    assert tokens(found["bad"]) == expected([3, NOT_FINITE], Sampling(max_tokens=4))
    assert found["bad"][-1].error == "the model's logits were not finite (NaN or infinite)"
    assert tokens(found["good"]) == expected([1, 2], Sampling(max_tokens=20))


def test_the_blocks_of_a_request_with_bad_logits_are_not_shared() -> None:
    _, engine = roomy(max_batch_tokens=8, max_running=8)
    engine.submit(submit("bad", [NOT_FINITE] * 30, max_tokens=20))
    run(engine)
    assert engine.stats().blocks_cached == 0


class Broken(FakeRunner):
    def execute(self, batch: Batch) -> Sampled:
        raise MemoryError("none left")


def test_a_broken_runner_ends_all_and_is_seen_to_be_broken() -> None:
    engine = Engine(Broken(), Batching(max_running=2))
    for id in "abcd":
        engine.submit(submit(id, [1], max_tokens=2))
    found = run(engine)
    assert {updates[-1].finish for updates in found.values()} == {"error"}
    assert engine.failed_steps == 2


class Miscounting(FakeRunner):
    def execute(self, batch: Batch) -> Sampled:
        return Sampled(np.zeros((len(batch.draws) + 1, 1), np.int64), (None,) * len(batch.draws))


def test_a_runner_that_miscounts_is_an_error_of_the_request() -> None:
    engine = Engine(Miscounting())
    engine.submit(submit("a", [1], max_tokens=2))
    assert "for 1 rows" in str(run(engine)["a"][-1].error)


def test_several_steps_are_asked_for_only_while_all_decode_and_no_more_than_are_wanted() -> None:
    runner, engine = roomy(steps=8)
    engine.submit(submit("a", [1, 2], max_tokens=20))
    engine.submit(submit("b", [3, 4], max_tokens=12))
    found = run(engine)
    assert [batch.steps for batch in runner.batches] == [1, 8, 8, 3]
    assert tokens(found["a"]) == expected([1, 2], Sampling(max_tokens=20))
    assert tokens(found["b"]) == expected([3, 4], Sampling(max_tokens=12))


def test_decoding_sequences_run_ahead_while_prompts_come() -> None:
    runner, engine = roomy(steps=8)
    engine.submit(submit("a", [1, 2], max_tokens=20))
    first = engine.step()
    engine.submit(submit("b", [3, 4, 5], max_tokens=12))
    second = engine.step()
    found = run(engine)
    assert [(len(batch.tokens), batch.steps) for batch in runner.batches[:3]] == [(2, 1), (4, 8), (2, 8)]
    assert [(update.id, len(update.tokens)) for update in second] == [("a", 8), ("b", 1)]
    assert tokens([*first, *second[:1], *found["a"]]) == expected([1, 2], Sampling(max_tokens=20))
    assert tokens([*second[1:], *found["b"]]) == expected([3, 4, 5], Sampling(max_tokens=12))


def test_what_prompts_need_of_the_host_holds_nobody_up() -> None:
    _, engine = roomy(steps=8)
    engine.submit(submit("a", [1, 2], max_tokens=20))
    engine.step()
    engine.submit(submit("b", [3, 4, 5], max_tokens=1, logprobs=0))
    assert [len(update.tokens) for update in engine.step()] == [8, 1]


def test_a_chunk_of_one_token_that_is_not_the_last_keeps_all_to_one_step() -> None:
    runner = FakeRunner(blocks=100, block_size=4, context=200, steps=8)
    engine = Engine(runner, Batching(max_running=2, max_batch_tokens=2))
    engine.submit(submit("a", [1, 2], max_tokens=20))
    engine.step()
    engine.submit(submit("b", [3, 4, 5], max_tokens=4))
    found = run(engine)
    assert [batch.steps for batch in runner.batches[:3]] == [1, 1, 1]
    assert tokens(found["b"]) == expected([3, 4, 5], Sampling(max_tokens=4))


def test_one_sequence_may_run_further_ahead_than_several() -> None:
    runner = FakeRunner(blocks=200, block_size=4, context=200, steps=4)
    runner.steps_alone = 16
    engine = Engine(runner)
    engine.submit(submit("a", [1, 2], max_tokens=40))
    engine.submit(submit("b", [3, 4], max_tokens=6))
    found = run(engine)
    assert [(len(batch.lengths), batch.steps) for batch in runner.batches] == [(2, 1), (2, 4), (2, 4), (1, 16), (1, 15)]
    assert tokens(found["a"]) == expected([1, 2], Sampling(max_tokens=40))


@pytest.mark.parametrize("wish", [{"logprobs": 0}, {"presence_penalty": 0.1}, {"logit_bias": {1: 1.0}}])
def test_what_needs_the_host_between_tokens_is_stepped_singly(wish: dict[str, Any]) -> None:
    runner, engine = roomy(steps=8)
    engine.submit(submit("a", [1, 2], max_tokens=9, **wish))
    run(engine)
    assert {batch.steps for batch in runner.batches} == {1}


def test_steps_ahead_take_no_blocks_from_others() -> None:
    runner = FakeRunner(blocks=3, block_size=4, context=64, steps=8)
    engine = Engine(runner, Batching(max_running=2))
    engine.submit(submit("a", [1, 2, 3], max_tokens=6))  # two blocks
    engine.submit(submit("b", [4, 5, 6], max_tokens=2))  # one, but two if it ran as far ahead as the other
    found = run(engine)
    assert [(len(batch.lengths), batch.steps) for batch in runner.batches] == [(2, 1), (2, 1), (1, 4)]
    assert engine.stats().preemptions == 0
    assert tokens(found["a"]) == expected([1, 2, 3], Sampling(max_tokens=6))


def test_the_newest_gives_way_and_goes_on_first() -> None:
    runner = FakeRunner(blocks=10, block_size=4, context=64)
    engine = Engine(runner, Batching(max_running=3))
    for i, id in enumerate("abc"):
        engine.submit(submit(id, [i + 1] * 6, max_tokens=20))
    ends = [update.id for _ in range(200) for update in engine.step() if update.finish]
    assert engine.stats().preemptions > 0
    assert ends == ["a", "b", "c"]


def test_newcomers_keep_nobody_waiting() -> None:
    runner = FakeRunner(blocks=30, block_size=4, context=100)
    engine = Engine(runner, Batching(max_running=4, max_batch_tokens=8))
    engine.submit(submit("long", [1] * 60, max_tokens=40))
    started: list[str] = []
    for step in range(100):  # one token a step at least
        engine.submit(submit(str(step), [step % 7] * 5, max_tokens=10))
        for update in engine.step():
            started += [update.id] if update.queued_seconds is not None else []
            if update.id == "long" and update.finish:
                assert started == ["long", *map(str, range(len(started) - 1))]
                return
    raise AssertionError("the first request has not ended")


def test_a_request_that_fills_the_whole_cache_runs() -> None:
    runner = FakeRunner(blocks=4, block_size=4, context=64)
    engine = Engine(runner)
    engine.submit(submit("a", [1] * 7, max_tokens=10))
    assert len(tokens(run(engine)["a"])) == 10
    with pytest.raises(Refused, match="cache has room for 17"):
        engine.submit(submit("b", [1] * 7, max_tokens=11))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "lifo"}, "policy='lifo' is none of continuous, fifo, static"),
        ({"max_running": 0}, "max_running=0 must be at least 1"),
        ({"max_running": 9, "max_batch_tokens": 8}, "max_batch_tokens=8 must be at least max_running=9"),
    ],
)
def test_options_that_contradict_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Batching(**options)


def sizes(policy: str) -> list[int]:
    """Sequences of each step for outputs of 2, 6, 2, 2 tokens, at most two at a time."""
    runner, engine = roomy(policy=policy, max_running=2)
    for i, wished in enumerate((2, 6, 2, 2)):
        engine.submit(submit(str(i), [i + 1], max_tokens=wished))
    run(engine)
    return [len(batch.lengths) for batch in runner.batches]


def test_fifo_runs_one_request_at_a_time() -> None:
    assert sizes("fifo") == [1] * 12


def test_static_fills_a_batch_only_when_the_last_one_has_ended() -> None:
    assert sizes("static") == [2, 2, 1, 1, 1, 1, 2, 2]


def test_continuous_fills_a_place_as_soon_as_it_is_free() -> None:
    assert sizes("continuous") == [2, 2, 2, 2, 2, 2]
