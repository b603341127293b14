"""Greedy tokens are those of transformers' generate, however requests share the cache and the steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from fake_runner import run, tokens
from families import make

from gridstride.models.decoder import Decoder
from gridstride.models.families import FAMILIES
from gridstride.models.huggingface import folder
from gridstride.serve.engine.batch import RunnerCode
from gridstride.serve.engine.engine import Engine
from gridstride.serve.engine.messages import Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.torch.torch_runner import TorchRunner

STEPS = 256
CONTEXT = 384
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {}, "qwen2": {}, "qwen3": {}, "mistral": {"sliding_window": 32},
    "granite": {"embedding_multiplier": 6.0, "residual_multiplier": 0.5, "attention_multiplier": 0.3},
    "olmo2": {}, "phi3": {"sliding_window": 50}, "gpt2": {}, "mixtral": {}, "qwen3_moe": {"mlp_only_layers": [0]},
    "gemma2": {"sliding_window": 19}, "gemma3_text": {"sliding_window": 33},
}  # fmt: skip
assert set(SHAPES) == set(FAMILIES)
HEAD = tuple(range(1, 41))  # shared by some prompts: whole blocks of it are reused
PROMPTS = (
    *(HEAD + tail for tail in ((3, 9, 27), (3, 9, 28), (50, 2, 17))),
    *((11,), (58,)),
)


@dataclass(frozen=True)
class Case:
    decoder: Decoder
    wanted: tuple[list[int], ...]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def case(family: str) -> Case:
    """A random model and what transformers generates with it: prompts of one length are one call, without padding."""
    size = {"n_positions" if family == "gpt2" else "max_position_embeddings": CONTEXT}
    model = make(family, **size, **SHAPES[family])
    with TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        decoder = folder.load(Path(saved))
    wanted: dict[int, list[int]] = {}
    for length in {len(prompt) for prompt in PROMPTS}:
        places = [i for i, prompt in enumerate(PROMPTS) if len(prompt) == length]
        ids = torch.tensor([PROMPTS[i] for i in places])
        settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": STEPS, "pad_token_id": 0}
        out = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)
        wanted |= dict(zip(places, out[:, length:].tolist(), strict=True))
    return Case(decoder, tuple(wanted[i] for i in range(len(PROMPTS))))


def serve(
    decoder: Decoder, *, blocks: int, block_size: int, apart: int = 0, native: bool = False, **options: Any
) -> tuple[list[list[int]], Engine]:
    """Tokens of each prompt, one arriving every `apart` steps."""
    engine = Engine(
        TorchRunner(
            decoder, blocks=blocks, block_size=block_size, code=RunnerCode("llvm" if native else "pytorch", "")
        ),
        Batching(**options),
    )
    said: dict[str, list[int]] = {}
    for i, prompt in enumerate(PROMPTS):
        sampling = Sampling(max_tokens=STEPS, temperature=0.0)
        engine.submit(Submit(id=str(i), prompt=prompt, sampling=sampling, arrived=time.monotonic()))
        for _ in range(apart):
            for update in engine.step():
                said.setdefault(update.id, []).extend(update.tokens)
    for id, updates in run(engine).items():
        said.setdefault(id, []).extend(tokens(updates))
    return [said[str(i)] for i in range(len(PROMPTS))], engine


@pytest.mark.parametrize("family", FAMILIES)
def test_all_at_once_with_prefixes_reused(family: str) -> None:
    wanted = case(family)
    said, engine = serve(wanted.decoder, blocks=300, block_size=8, apart=3)
    assert said == list(wanted.wanted)
    assert engine.stats().prefix_hits == 80


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_in_small_chunks_among_decoding_sequences(family: str) -> None:
    wanted = case(family)
    said, engine = serve(
        wanted.decoder, blocks=300, block_size=5, apart=2, max_batch_tokens=9, max_running=6, prefix_reuse=False
    )
    assert said == list(wanted.wanted)
    assert engine.stats().prefix_hits == 0


@pytest.mark.parametrize(
    ("family", "reuse"),
    [
        *(("llama", True), ("qwen2", False), ("qwen3", True), ("gpt2", False)),
        *(("mixtral", True), ("gemma3_text", False)),
    ],
)
def test_under_preemption(family: str, reuse: bool) -> None:
    wanted = case(family)
    said, engine = serve(
        wanted.decoder, blocks=100, block_size=7, prefix_reuse=reuse, max_batch_tokens=64, max_running=4
    )
    assert said == list(wanted.wanted)
    assert engine.stats().preemptions > 0


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "phi3"])
def test_in_machine_code(family: str) -> None:
    wanted = case(family)
    said, engine = serve(wanted.decoder, blocks=100, block_size=7, apart=2, native=True, max_running=8)
    assert said == list(wanted.wanted)
    assert engine.stats().preemptions > 0


@pytest.mark.parametrize("first", [32, CONTEXT])
def test_longrope_beyond_its_first_context_and_within_it(first: int) -> None:
    """transformers changes its factors where a sequence grows beyond the first context; the engine's stay, so prompts
    are either longer than that, or nothing ever is.
    """
    waves = {"short_factor": [1.0, 1.1, 1.5, 2.0], "long_factor": [1.0, 2.0, 5.0, 9.0]}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": first, **waves}
    changes = {"max_position_embeddings": CONTEXT, "original_max_position_embeddings": first, "rope_parameters": rope}
    model = make("phi3", **changes)
    with TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        decoder = folder.load(Path(saved))
    said, _ = serve(decoder, blocks=300, block_size=8, apart=3)
    ids = torch.tensor(PROMPTS[:3])
    settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": STEPS, "pad_token_id": 0}
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)
    assert said[:3] == out[:, ids.shape[1] :].tolist()
