"""A step in machine code: PyTorch's numbers, in hidden states, logits and cache, and the same ones in any batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gridstride.models.config import DecoderConfig, ExpertsConfig, RotaryScaling, SlidingWindow
from gridstride.models.decoder import Decoder
from gridstride.serve.engine.batch import Batch
from gridstride.serve.runner.cpu.native_decoder import NativeDecoder
from gridstride.serve.runner.cpu.native_shapes import unsupported
from gridstride.serve.runner.torch.int8_linear import quantize
from gridstride.serve.runner.torch.torch_runner import TorchRunner

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=64)
SCALING = RotaryScaling(
    kind="longrope", factor=1.0, original_context=16, attention_factor=1.1, short_factors=(1.0,) * 4,
    long_factors=(1.0, 2.0, 3.0, 4.0),
)  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"qkv_bias": True, "tied": True},
    "qwen3": {"head_norm": True, "head_width": 16},
    "mistral": {"window": SlidingWindow(size=9, full=(1,))},
    "phi3": {"rotary_scaling": SCALING},
    "granite": {"attention_scale": 0.3, "output_bias": True, "mlp_bias": True},
}
STEPS = ((3, 4, 1), (1, 1, 1), (5, 1, 9), (1, 1, 1), (2, 3, 4), (7, 1, 8))
SIZE, BLOCKS = 5, 13  # of a block; blocks of a sequence


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        yield
    torch.set_num_threads(before)


def decoder(dtype: torch.dtype = torch.float32, **changes: Any) -> Decoder:
    torch.manual_seed(0)
    made = Decoder(replace(CONFIG, **changes)).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(0.5 if weight.dim() == 1 else 0.0, 0.2)
    return made.to(dtype)


def batches(steps: Sequence[Sequence[int]], only: int | None = None) -> Iterator[Batch]:
    """So many tokens of each sequence in a step; `only`: as if the others were not there."""
    random, past = np.random.default_rng(0), [0] * len(steps[0])
    for counts in steps:
        tokens = [random.integers(0, CONFIG.vocabulary, count) for count in counts]
        shown = range(len(counts)) if only is None else (only,)
        positions = [np.arange(past[s], past[s] + counts[s]) for s in shown]
        tables = np.array([np.arange(BLOCKS)[::-1] + s * BLOCKS for s in shown], np.int32)
        slots = [tables[i][at // SIZE] * SIZE + at % SIZE for i, at in enumerate(positions)]
        ends = np.cumsum([counts[s] for s in shown])
        yield Batch(
            tokens=np.concatenate([tokens[s] for s in shown]).astype(np.int64),
            positions=np.concatenate(positions).astype(np.int64),
            slots=np.concatenate(slots).astype(np.int64),
            starts=np.concatenate(([0], ends)).astype(np.int32),
            lengths=np.array([past[s] + counts[s] for s in shown], np.int32),
            blocks=tables,
            sampled=(ends - 1).astype(np.int32),
            draws=(),
        )
        past = [before + count for before, count in zip(past, counts, strict=True)]


def pair(made: Decoder) -> tuple[TorchRunner, TorchRunner, NativeDecoder]:
    runners = [TorchRunner(made, blocks=3 * BLOCKS, block_size=SIZE) for _ in range(2)]
    for runner in runners:
        runner._cache[:, :, :-1] = torch.nan  # what somebody has left there
    return *runners, NativeDecoder(made, runners[1]._cache)  # type: ignore[return-value]


def greatest(a: Tensor, b: Tensor) -> float:
    return float((a.float() - b.float()).abs().max())


@pytest.mark.parametrize("family", SHAPES)
def test_hidden_states_logits_and_cache_are_those_of_pytorch(family: str) -> None:
    made = decoder(family=family, **SHAPES[family])
    plain, other, native = pair(made)
    for batch in batches(STEPS):
        wanted, got = plain.hidden(batch), native.hidden(batch)
        assert greatest(wanted, got) < 2e-5
        assert greatest(made.logits(wanted), native.logits(got)) < 1e-4
        assert torch.equal(plain._cache.isnan(), other._cache.isnan())
        assert greatest(plain._cache.nan_to_num(), other._cache.nan_to_num()) < 2e-5


def test_bf16_weights_and_cache() -> None:
    made = decoder(torch.bfloat16)
    full = decoder().bfloat16().float()  # the same weights: activations alone are rounded in one and not in the other
    plain, _, native = pair(made)
    exact, _, _ = pair(full)
    for batch in batches(STEPS):
        wanted = exact.hidden(batch)
        assert greatest(wanted, native.hidden(batch)) <= max(0.02, greatest(wanted, plain.hidden(batch)))


def test_weights_of_8_bits_give_what_pytorch_makes_of_them() -> None:
    made = decoder(tied=True)
    quantize(made)
    plain, _, native = pair(made)
    for batch in batches(STEPS):
        wanted, got = plain.hidden(batch), native.hidden(batch)
        assert greatest(wanted, got) < 5e-5
        assert greatest(made.logits(wanted), native.logits(got)) < 2e-4


def test_a_sequence_has_the_same_numbers_in_any_batch() -> None:
    made = decoder()
    _, _, native = pair(made)
    together = [(batch, native.hidden(batch).clone()) for batch in batches(STEPS)]
    for only in range(3):
        _, _, native = pair(made)
        for alone, (batch, hidden) in zip(batches(STEPS, only), together, strict=True):
            mine = hidden[batch.starts[only] : batch.starts[only + 1]]
            assert torch.equal(native.hidden(alone), mine)


def test_it_takes_a_few_tokens_on_one_thread() -> None:
    made = decoder()
    _, _, native = pair(made)
    few, many = next(batches([(native.most_rows - 1, 1)])), next(batches([(native.most_rows, 1)]))
    assert native.takes(few)
    assert not native.takes(many)
    assert not native.takes(replace(few, adapters=(0, 1)))
    torch.set_num_threads(2)
    assert not native.takes(few)
    quantize(made)
    assert pair(made)[2].takes(few)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"norm_after": True}, "norms ahead of a layer"),
        ({"logit_cap": 5.0}, "no scales or caps"),
        ({"residual_scale": 0.5}, "no scales or caps"),
        ({"activation": "gelu_tanh_gated"}, "gated by silu"),
        ({"experts": ExpertsConfig(count=4, per_token=2, hidden=16, normed=True)}, "not for mixtures of experts"),
        ({"window": SlidingWindow(size=7, rotary_base=1e3)}, "one base of rotary positions"),
        ({"hidden": 50}, "intermediate_size 50"),
        ({"head_width": 4}, "head_dim 4: the code is for multiples of 4, and of 8 in a head"),
    ],
)
def test_what_it_does_not_know_is_said(changes: dict[str, Any], reason: str) -> None:
    assert unsupported(CONFIG, torch.float32) == ""
    assert reason in unsupported(replace(CONFIG, **changes), torch.float32)
    assert "torch.float16" in unsupported(CONFIG, torch.float16)
