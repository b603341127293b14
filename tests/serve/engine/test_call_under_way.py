"""Batches queued before the one before them has been read; what holds for all traffic is in test_scheduler.py."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runner import FakeAhead, expected, run, submit, tokens

from gridstride.serve.engine.batch import Batch, Sampled
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching


def ahead(steps: int = 1, **batching: Any) -> tuple[FakeAhead, Engine]:
    runner = FakeAhead(blocks=200, block_size=4, context=200, steps=steps)
    return runner, Engine(runner, Batching(**batching, ahead_from=1))


def test_a_runner_that_takes_batches_ahead_has_two_while_there_is_work() -> None:
    runner, engine = ahead(steps=4)
    engine.submit(submit("a", [1, 2], max_tokens=20, ignore_eos=True))
    assert engine.step() == []
    assert not engine.idle
    assert tokens(engine.step()) == expected([1, 2], Sampling(max_tokens=20))[:1]
    assert tokens(run(engine)["a"]) == expected([1, 2], Sampling(max_tokens=20))[1:]
    assert runner.most_under_way == 2


def test_who_ends_by_its_length_leaves_its_place_before_its_last_tokens_are_read() -> None:
    """Batches have the sequences that they would have one by one."""

    def sequences(ahead_from: int) -> list[int]:
        runner = FakeAhead(blocks=200, block_size=4, context=200, steps=4)
        engine = Engine(runner, Batching(max_running=2, max_batch_tokens=64, ahead_from=ahead_from))
        for id, most in (("long", 25), ("b", 5), ("c", 5), ("d", 5)):
            engine.submit(submit(id, [1, 2, 3], max_tokens=most, ignore_eos=True))
        found = run(engine)
        assert tokens(found["d"]) == expected([1, 2, 3], Sampling(max_tokens=5, ignore_eos=True))
        assert runner.most_under_way == (2 if ahead_from == 1 else 0)
        return [len(batch.lengths) for batch in runner.batches]

    assert sequences(1) == sequences(100) == [2] * 6 + [1]


def test_nobody_is_set_back_while_one_that_ends_is_about_to_give_its_blocks_back() -> None:
    runner = FakeAhead(blocks=11, block_size=4, context=200, steps=4)
    engine = Engine(runner, Batching(max_batch_tokens=64, max_running=8, ahead_from=1))
    for id, prompt, most in (("a", 3, 30), ("b", 7, 9), ("c", 8, 13)):
        engine.submit(submit(id, range(1, prompt + 1), max_tokens=most, ignore_eos=True))
    run(engine)
    assert engine.stats().preemptions == 0


def test_tokens_that_have_been_read_do_not_wait_for_another_batch() -> None:
    runner, engine = ahead(steps=4)
    engine.submit(submit("a", [1, 2], max_tokens=20, ignore_eos=True))
    engine.step()
    engine.submit(submit("b", [1, 2], max_tokens=3, frequency_penalty=0.5))
    assert [len(update.tokens) for update in engine.step()] == [1]
    assert len(runner.batches) == 1


@pytest.mark.parametrize("ahead_from", [1, 100])
def test_a_fault_of_batches_alone_is_said(ahead_from: int, caplog: pytest.LogCaptureFixture) -> None:
    """Whose sequences one by one all succeed."""

    class Alone(FakeAhead):
        def queue(self, batch: Batch) -> Any:
            raise RuntimeError("no two at once")

        def execute(self, batch: Batch) -> Sampled:
            if len(batch.lengths) > 1:
                raise RuntimeError("no two at once")
            return super().execute(batch)

    engine = Engine(Alone(blocks=200, block_size=4, context=200), Batching(ahead_from=ahead_from))
    for id in "ab":
        engine.submit(submit(id, [1, 2], max_tokens=3, ignore_eos=True))
    found = run(engine)
    assert tokens(found["a"]) == tokens(found["b"]) == expected([1, 2], Sampling(max_tokens=3, ignore_eos=True))
    said = [record for record in caplog.records if "its 2 sequences go one by one" in record.getMessage()]
    assert len(said) == 3
    assert [record.exc_info is not None for record in said] == [True, False, False]


def test_a_runner_that_is_broken_fails_once_a_step() -> None:
    class Broken(FakeAhead):
        def _tried(self, batch: Batch) -> Exception:
            return RuntimeError("lost")

        def execute(self, batch: Batch) -> Sampled:
            raise RuntimeError("lost")

    engine = Engine(Broken(blocks=200, block_size=4, context=200), Batching(ahead_from=1, max_running=2))
    for i in range(6):
        engine.submit(submit(str(i), [1, 2], max_tokens=20, ignore_eos=True))
    steps = 0
    while not engine.idle:
        engine.step()
        steps += 1
        assert engine.failed_steps <= steps


def test_one_request_that_needs_the_host_lets_no_batch_go_ahead() -> None:
    runner, engine = ahead()
    engine.submit(submit("a", [1, 2], max_tokens=12, ignore_eos=True))
    engine.submit(submit("b", [1, 2], max_tokens=3, frequency_penalty=0.5, ignore_eos=True))
    engine.step()
    assert runner.most_under_way == 0
    run(engine)
    assert runner.most_under_way == 2  # b has ended before a


def test_an_abort_of_what_is_under_way_leaves_nothing_behind() -> None:
    _, engine = ahead(steps=4)
    engine.submit(submit("a", [1, 2, 3, 4, 5], max_tokens=20))
    engine.step()
    engine.abort("a")
    assert [update.finish for update in run(engine)["a"]] == ["abort"]
    assert engine.stats().blocks_used == 0
