"""What the engine gives of prompts: log-probabilities and hidden states, against the whole model at once."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
import pytest
import torch
from fake_runner import FakeRunner

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.batch import Runner
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit, Update
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner
from gridstride.serve.runner.torch.torch_runner import TorchRunner

CONFIG = DecoderConfig(vocabulary=300, width=128, layers=2, heads=2, kv_heads=1, head_width=64, hidden=96, context=256)
POOLS: tuple[Literal["last", "mean"], ...] = ("last", "mean")
EXACT = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    torch.manual_seed(3)
    return Decoder(CONFIG).eval()


@pytest.fixture(params=["torch", "cuda", pytest.param("gpu", marks=pytest.mark.gpu)])
def runner(request: pytest.FixtureRequest, decoder: Decoder) -> Runner:
    """The runner for GPUs runs the same code on a CPU, without graphs."""
    kind: Any = {"torch": TorchRunner, "cuda": CudaRunner, "gpu": CudaRunner}[request.param]
    device = "cuda" if request.param == "gpu" else "cpu"
    made: Runner = kind(copy.deepcopy(decoder).to(device), blocks=60, block_size=8)
    return made


def prompt(size: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(map(int, np.random.default_rng(seed).integers(0, 300, size)))


def run(runner: Runner, wishes: list[tuple[tuple[int, ...], Sampling]], *, preempted: bool = False) -> list[Update]:
    """Each request's updates as one: tokens put together, the rest as it came."""
    engine = Engine(runner, Batching(max_batch_tokens=32, max_running=8))
    for number, (tokens, sampling) in enumerate(wishes):
        engine.submit(Submit(id=str(number), prompt=tokens, sampling=sampling, arrived=0.0))
    found: dict[str, Update] = {}
    while not engine.idle:
        for update in engine.step():
            assert update.error is None, update.error
            before = found.setdefault(update.id, update)
            if before is not update:
                before.tokens += update.tokens
                assert update.prompt_logprobs is update.embedding is None
    assert engine.stats().blocks_used == 0
    assert (engine.stats().preemptions > 0) == preempted
    return [found[str(number)] for number in range(len(wishes))]


def expected(decoder: Decoder, tokens: tuple[int, ...]) -> torch.Tensor:
    with torch.inference_mode():
        return decoder.logits(decoder(torch.tensor(tokens)[None]))[0].log_softmax(dim=-1)


def test_how_likely_each_token_of_a_prompt_was(runner: Runner, decoder: Decoder) -> None:
    """Prompts of several chunks, of one token and of two, beside others that are not read."""
    prompts = [prompt(size, seed) for seed, size in enumerate((70, 1, 2, 33, 9))]
    wishes = [(each, Sampling(prompt_logprobs=3, max_tokens=4, temperature=0)) for each in prompts]
    updates = run(runner, [*wishes, (prompt(50, 9), Sampling(max_tokens=9))])
    for tokens, update in zip(prompts, updates, strict=False):
        logprobs, given = expected(decoder, tokens), update.prompt_logprobs
        assert given is not None
        assert len(given) == len(tokens) - 1
        for place, each in enumerate(given):
            row, token = logprobs[place], tokens[place + 1]
            assert each.own == pytest.approx(float(row[token]), abs=1e-4)
            assert each.rank == int((row > row[token]).sum()) + 1
            assert [id for id, _ in each.top] == row.topk(3).indices.tolist()
        assert update.tokens[0] == int(logprobs[-1].argmax())
        assert len(update.tokens) == 4
    assert updates[-1].prompt_logprobs is None


@pytest.mark.parametrize("pool", POOLS)
def test_a_prompts_hidden_state(runner: Runner, decoder: Decoder, pool: Literal["last", "mean"]) -> None:
    prompts = [prompt(size, seed) for seed, size in enumerate((70, 1, 33))]
    updates = run(runner, [(each, Sampling(pool=pool, max_tokens=0)) for each in prompts])
    for tokens, update in zip(prompts, updates, strict=True):
        with torch.inference_mode():
            states = decoder(torch.tensor(tokens)[None])[0]
        state = states[-1] if pool == "last" else states.mean(dim=0)
        assert update.embedding is not None
        np.testing.assert_allclose(np.frombuffer(update.embedding, np.float32), state.numpy(), **EXACT)
        assert (update.tokens, update.finish) == ((), "length")


@pytest.mark.parametrize("wish", [{"prompt_logprobs": 0}, {"pool": "mean"}, {"pool": "last"}])
def test_a_prefix_that_is_known_is_read_all_the_same(decoder: Decoder, wish: dict[str, Any]) -> None:
    runner, tokens = TorchRunner(copy.deepcopy(decoder), blocks=60, block_size=8), prompt(40)
    engine = Engine(runner, Batching(max_batch_tokens=32, max_running=8))
    given = []
    for number in range(2):
        engine.submit(Submit(id=str(number), prompt=tokens, sampling=Sampling(max_tokens=0, **wish), arrived=0.0))
        while not engine.idle:
            given += engine.step()
    assert given[0].prompt_logprobs == given[1].prompt_logprobs
    assert given[0].embedding == given[1].embedding
    assert (given[1].cached_tokens > 0) == (wish == {"pool": "last"})


@pytest.mark.parametrize("wish", [{"prompt_logprobs": 0}, {"pool": "mean"}, {"pool": "last"}])
def test_who_gives_way_is_read_once(decoder: Decoder, wish: dict[str, Any]) -> None:
    """So few blocks that prompts are begun again: their readings are those of a prompt that was not disturbed."""
    prompts = [prompt(60, seed) for seed in range(4)]
    roomy = run(
        TorchRunner(copy.deepcopy(decoder), blocks=90, block_size=8),
        [(each, Sampling(max_tokens=40, temperature=0, **wish)) for each in prompts],
    )
    tight_runner = TorchRunner(copy.deepcopy(decoder), blocks=18, block_size=8)
    again = [(each, Sampling(max_tokens=40, temperature=0, **wish)) for each in prompts]
    tight = run(tight_runner, again, preempted=True)
    for one, other in zip(roomy, tight, strict=True):
        assert one.tokens == other.tokens
        for a, b in zip(one.prompt_logprobs or (), other.prompt_logprobs or (), strict=True):
            assert a.own == pytest.approx(b.own, abs=1e-4)
        if one.embedding is not None:
            assert other.embedding is not None
            np.testing.assert_allclose(
                np.frombuffer(one.embedding, np.float32), np.frombuffer(other.embedding, np.float32), **EXACT
            )


def test_no_token_need_be_drawn_and_the_context_may_be_full(decoder: Decoder) -> None:
    runner = TorchRunner(copy.deepcopy(decoder), blocks=60, block_size=8)
    (update,) = run(runner, [(prompt(256), Sampling(max_tokens=0, prompt_logprobs=0))])
    assert update.prompt_logprobs is not None
    assert len(update.prompt_logprobs) == 255


def test_a_runner_that_cannot_read_refuses() -> None:
    engine = Engine(FakeRunner(), Batching(max_batch_tokens=8, max_running=4))
    with pytest.raises(Refused, match="gives nothing of prompts"):
        engine.submit(Submit(id="1", prompt=(1,), sampling=Sampling(prompt_logprobs=1), arrived=0.0))
    with pytest.raises(Refused, match="max_tokens is 0"):
        engine.submit(Submit(id="1", prompt=(1,), sampling=Sampling(max_tokens=0), arrived=0.0))
