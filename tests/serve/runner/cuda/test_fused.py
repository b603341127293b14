"""One launch for one sequence: a step of a small decoder is a single kernel."""

from __future__ import annotations

import copy

import pytest
import torch

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.cuda.cuda_runner import CudaRunner, GraphSizes

# -- one launch for one sequence ---------------------------------------------------------------------------------------
STREAMED = DecoderConfig(
    vocabulary=5000, width=1024, layers=3, heads=8, kv_heads=4, head_width=128, hidden=1024, context=2048, tied=True
)


def one_sequence(runner: CudaRunner, sampling: Sampling, *, prompt: list[int], count: int) -> list[int]:
    engine = Engine(runner, Batching(max_batch_tokens=4096, max_running=4))
    engine.submit(Submit(id="a", prompt=tuple(prompt), sampling=sampling, arrived=0.0))
    tokens: list[int] = []
    while not engine.idle:
        for update in engine.step():
            assert update.error is None, update.error
            tokens += update.tokens
    assert len(tokens) == count
    return tokens


def regrets(model: Decoder, prompt: list[int], tokens: list[int]) -> torch.Tensor:
    """How far each token's logit lies below the largest, in float64, relative to the logits' spread."""
    wide = copy.deepcopy(model).double()
    with torch.no_grad():
        logits = wide.logits(wide(torch.tensor([prompt + tokens[:-1]]))[0, len(prompt) - 1 :])
    return (logits.amax(-1) - logits[torch.arange(len(tokens)), torch.tensor(tokens)]) / logits.std(-1)


@pytest.mark.gpu
@pytest.mark.parametrize("prompt_length", [1, 50, 1100])
def test_one_launch_draws_the_likeliest_tokens(prompt_length: int) -> None:
    torch.manual_seed(0)
    model = Decoder(STREAMED).eval().bfloat16()
    prompt = torch.randint(0, 5000, (prompt_length,)).tolist()
    runner = CudaRunner(copy.deepcopy(model), sizes=GraphSizes(steps=16), blocks=100, block_size=16, device="cuda")
    assert runner._one_launch is not None
    for sampling in (
        Sampling(temperature=0.0, max_tokens=70, ignore_eos=True),
        Sampling(temperature=0.5, top_k=1, max_tokens=20, ignore_eos=True),  # from a graph, step by step
    ):
        tokens = one_sequence(runner, sampling, prompt=prompt, count=sampling.max_tokens)
        assert regrets(model, prompt, tokens).max() < 0.05


@pytest.mark.gpu
def test_one_launch_gives_the_same_tokens_however_many_steps_a_call_has() -> None:
    torch.manual_seed(0)
    model, prompt = Decoder(STREAMED).eval().bfloat16(), list(range(30))
    sampling = Sampling(temperature=0.0, max_tokens=40, ignore_eos=True)
    found = [
        one_sequence(
            CudaRunner(copy.deepcopy(model), sizes=GraphSizes(steps=steps), blocks=20, block_size=16, device="cuda"),
            sampling, prompt=prompt, count=40,
        )
        for steps in (1, 3, 16)
    ]  # fmt: skip
    assert found[0] == found[1] == found[2]
