"""Batches that go on from tokens which nobody has read yet."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch, QueueingRunner
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.cuda.batch_parts import BatchPart
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner, GraphSizes
from gridstride.serve.runner.cuda.last_tokens import LastTokens

every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
SHAPE = DecoderConfig(
    vocabulary=300, width=128, layers=2, heads=4, kv_heads=2, head_width=64, hidden=256, context=256,
)  # fmt: skip
SIZES = GraphSizes(buckets=(1, 2, 4), prompts=(64,), steps=4)


def runner(device: str) -> CudaRunner:
    torch.manual_seed(0)
    return CudaRunner(Decoder(SHAPE).eval(), blocks=100, block_size=8, device=device, sizes=SIZES)


def generated(runner: CudaRunner, *, ahead_from: int) -> tuple[dict[str, list[int]], int]:
    """More requests than places, of many lengths, greedy and drawn: their tokens, and the steps that read nothing."""
    engine = Engine(runner, Batching(max_batch_tokens=64, max_running=6, ahead_from=ahead_from))
    draw = np.random.default_rng(1)
    tokens: dict[str, list[int]] = {}
    for i in range(16):
        prompt = tuple(map(int, draw.integers(0, 300, int(draw.integers(1, 90)))))
        sampling = Sampling(temperature=0.7 * (i % 2), max_tokens=1 + i * 5 % 40, seed=i, ignore_eos=True)
        engine.submit(Submit(id=str(i), prompt=prompt, sampling=sampling, arrived=0.0))
        tokens[str(i)] = []
    silent = 0
    while not engine.idle:
        updates = engine.step()
        silent += not updates
        for update in updates:
            assert update.error is None, update.error
            tokens[update.id] += update.tokens
    return tokens, silent


@every_device
def test_batches_queued_ahead_give_the_tokens_of_batches_one_by_one(device: str) -> None:
    one = runner(device)
    assert isinstance(one, QueueingRunner)
    by_turns, silent = generated(one, ahead_from=1000)
    assert silent == 0
    ahead, silent = generated(one, ahead_from=1)
    assert silent == 1  # the first step only queues
    assert ahead == by_turns
    assert sorted(map(len, ahead.values())) == sorted(1 + i * 5 % 40 for i in range(16))


@every_device
def test_each_draw_finds_its_token_wherever_its_part_drew_it(device: str) -> None:
    last = LastTokens(torch.device(device))
    batch = tiny_batch(draws=3)
    last.located(batch)
    last.note(part(batch, [2]), torch.tensor([50, 51], device=device), np.array([1], np.int32))
    overwritten = torch.tensor([60, 61, 62, 63], device=device)
    last.note(part(batch, [0, 1]), overwritten, np.array([3, 0], np.int32))
    overwritten.zero_()
    last.take_turn(batch)
    following = last.located(tiny_batch(draws=4, sources=[2, -1, 0, 1]))
    assert following.sources is not None
    found = [int(last.tokens[place]) if place >= 0 else None for place in following.sources]
    assert found == [51, None, 63, 60]


def test_a_batch_without_sources_stays_as_it_is() -> None:
    batch = tiny_batch(draws=2)
    assert LastTokens(torch.device("cpu")).located(batch) is batch


def tiny_batch(*, draws: int, sources: list[int] | None = None) -> Batch:
    rows = np.arange(draws)
    return Batch(
        tokens=rows, positions=rows, slots=rows, starts=np.arange(draws + 1, dtype=np.int32),
        lengths=rows.astype(np.int32), blocks=np.zeros((draws, 1), np.int32), sampled=rows.astype(np.int32),
        draws=(None,) * draws, sources=None if sources is None else np.array(sources, np.int32),  # type: ignore[arg-type]
    )  # fmt: skip


def part(batch: Batch, draws: list[int]) -> BatchPart:
    return BatchPart(batch, np.array(draws), decoding=True, reads=np.empty(0, np.int64))
