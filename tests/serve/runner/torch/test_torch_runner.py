"""The PyTorch runner: one sequence's numbers never reach another, and a batch changes no request's tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from fake_runner import run, submit, tokens

from gridstride.models import families
from gridstride.models.config import DecoderConfig, ExpertsConfig, SlidingWindow
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import RunnerCode
from gridstride.serve.engine.engine import NOT_FINITE, Engine
from gridstride.serve.engine.scheduler import Batching
from gridstride.serve.runner.torch.torch_runner import TorchRunner

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=128)
POISON = 60
SPARED: dict[str, Any] = {"max_tokens": 30, "logit_bias": {POISON: -100.0}}  # or a request would draw it by itself


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    """Random weights; one token's embedding is broken, and with it every key and value that comes of it."""
    torch.manual_seed(0)
    made = Decoder(CONFIG).eval()
    with torch.no_grad():
        made.embed_tokens.weight.mul_(0.5)[POISON] = torch.nan
        made.lm_head.weight.mul_(5)
    return made


PROMPTS = {"a": [1, 2, 3], "b": list(range(40)), "c": [7] * 20, "d": [9]}


def said(
    decoder: Decoder, ids: str, *, blocks: int = 200, poison: int = 0, native: bool = False, **wishes: Any
) -> dict[str, list[int]]:
    """Tokens of these prompts, served together, after and among `poison` requests that go wrong."""
    runner = TorchRunner(decoder, blocks=blocks, block_size=4, code=RunnerCode("llvm" if native else "pytorch", ""))
    engine = Engine(runner, Batching(max_running=8, max_batch_tokens=24, prefix_reuse=False))
    for i in range(poison):
        engine.submit(submit(f"poison {i}", [5] * i + [POISON] * 9, max_tokens=3))
    for place, id in enumerate(ids):
        engine.submit(submit(id, PROMPTS[id], **SPARED, seed=ord(id), **wishes))
        engine.submit(submit(f"poison {id}", [POISON] * (3 + 9 * place), max_tokens=3)) if poison else None
    found = run(engine)
    for id, updates in found.items():
        assert (updates[-1].error == NOT_FINITE) == id.startswith("poison"), (id, updates)
    return {id: tokens(found[id]) for id in ids}


@pytest.mark.parametrize(
    "wishes", [{"temperature": 0.0}, {"temperature": 1.5}, {"top_p": 0.8, "presence_penalty": 0.5}]
)
def test_tokens_are_the_same_in_any_batch(decoder: Decoder, wishes: dict[str, Any]) -> None:
    together = said(decoder, "abcd", **wishes)
    assert together == {id: said(decoder, id, **wishes)[id] for id in "abcd"}
    assert together == said(decoder, "dbca", **wishes)
    assert together == said(decoder, "cabd", blocks=24, **wishes)


@pytest.mark.parametrize("native", [False, True])
def test_nan_of_one_request_reaches_no_other_in_its_batch_nor_the_next_owners_of_its_blocks(
    decoder: Decoder, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # as many as machine code runs on
    clean = said(decoder, "abcd", native=native, temperature=0.7)
    assert said(decoder, "abcd", poison=6, native=native, temperature=0.7) == clean
    assert said(decoder, "abcd", poison=6, blocks=24, native=native, temperature=0.7) == clean


def test_a_cache_that_held_anything_before_changes_nothing(decoder: Decoder) -> None:
    clean = said(decoder, "abcd", temperature=0.7)
    runner = TorchRunner(decoder, blocks=40, block_size=4)
    runner._cache[:, :, :-1] = torch.nan
    engine = Engine(runner, Batching(max_running=8))
    assert engine._scheduler.pool.take() == 0  # what stands in unused places of block tables stays as it is
    for id in "abcd":
        engine.submit(submit(id, PROMPTS[id], **SPARED, seed=ord(id), temperature=0.7))
    assert {id: tokens(updates) for id, updates in run(engine).items()} == clean


def test_half_precision_runs(decoder: Decoder) -> None:
    torch.manual_seed(0)
    half = Decoder(CONFIG).eval().to(torch.bfloat16)
    assert {len(found) for found in said(half, "abcd", temperature=1.0).values()} == {30}


EXPERTS = ExpertsConfig(count=5, per_token=2, hidden=24, normed=True)
GEMMA: dict[str, Any] = {
    "norm_around": True, "unit_offset": True, "scaled_embedding": True, "activation": "gelu_tanh_gated", "tied": True,
    "window": SlidingWindow(size=7, full=(1,)),
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"head_norm": True, "tied": True},
    "mistral": {"rotary_base": 1_000_000.0},
    "phi3": {"kv_heads": 4},
    "granite": {"embedding_scale": 6.0, "residual_scale": 0.5, "attention_scale": 0.3, "logit_divisor": 2.0},
    "olmo2": {"joint_norm": True, "norm_after": True},
    "mixtral": {"experts": EXPERTS, "window": SlidingWindow(size=9)},
    "qwen3_moe": {"head_norm": True, "experts": replace(EXPERTS, normed=False, dense=(0,))},
    "gemma2": GEMMA | {"query_scalar": 24, "attention_cap": 5.0, "logit_cap": 9.0},
    "gemma3_text": GEMMA
    | {"head_norm": True, "query_scalar": 24, "window": SlidingWindow(size=7, full=(1,), rotary_base=1e3)},
    "gpt2": {
        "kv_heads": 4, "rotary_base": None, "tied": True, "qkv_bias": True, "output_bias": True, "mlp_bias": True,
        "norm": "layer", "activation": "gelu_tanh",
    },
}  # fmt: skip
assert set(FAMILIES) == set(families.FAMILIES)


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_says_the_same_on_a_gpu(family: str) -> None:
    torch.manual_seed(1)
    made = Decoder(replace(CONFIG, family=family, **FAMILIES[family])).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(0.5 if weight.dim() == 1 else 0.0, 0.2)
    at_home = said(made, "abcd", temperature=0.0)
    assert said(made.to("cuda"), "abcd", temperature=0.0) == at_home
