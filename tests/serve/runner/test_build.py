"""A runner for a folder: the cache's size from the memory it may take."""

from __future__ import annotations

import re
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from families import saved

from gridstride.models.config import DecoderConfig, ExpertsConfig, SlidingWindow
from gridstride.models.errors import ModelError
from gridstride.serve.runner import build
from gridstride.serve.runner.cuda.fused import unsupported
from gridstride.serve.runner.memory import available, for_cache
from gridstride.serve.runner.torch.torch_runner import TorchRunner

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=128)
TOKEN = 2 * 2 * 2 * 8 * 4  # keys and values, layers, heads, width, bytes


def test_blocks_fill_the_memory() -> None:
    assert build.blocks_in(TOKEN * 8 * 10, TOKEN, block_size=8) == 10
    assert build.blocks_in(TOKEN * 8 * 10 - 1, TOKEN, block_size=8) == 9
    assert build.blocks_in(TOKEN * 8 * 10, TOKEN // 2, block_size=8) == 20


@pytest.mark.parametrize(
    "change", [{"norm_after": True}, {"joint_norm": True}, {"attention_scale": 0.5}, {"residual_scale": 0.5},
               {"embedding_scale": 2.0}, {"logit_divisor": 2.0}, {"norm_around": True}, {"unit_offset": True},
               {"scaled_embedding": True}, {"query_scalar": 9}, {"attention_cap": 5.0}, {"logit_cap": 5.0}],
)  # fmt: skip
def test_the_fused_kernels_refuse_what_they_do_not_know(change: dict[str, Any]) -> None:
    fits = replace(CONFIG, head_width=64)
    assert unsupported(fits, torch.float32) == ""
    assert "the kernels know" in unsupported(replace(fits, **change), torch.float32)


def test_the_fused_kernels_refuse_experts_and_windows_that_the_context_passes() -> None:
    fits = replace(CONFIG, head_width=64)
    experts = replace(fits, experts=ExpertsConfig(count=4, per_token=2, hidden=16, normed=True))
    assert "not for mixtures of experts" in unsupported(experts, torch.float32)
    window = replace(fits, window=SlidingWindow(size=fits.context - 1))
    assert f"--max-model-len {fits.context - 1} ends the context" in unsupported(window, torch.float32)
    assert unsupported(replace(window, context=fits.context - 1), torch.float32) == ""
    gelu = replace(fits, activation="gelu_tanh_gated")
    assert "gated by silu" in unsupported(gelu, torch.float32)


def test_a_gpu_without_the_fused_kernels_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    fits = replace(CONFIG, head_width=64)
    assert build._fused(fits, torch.float32)
    assert capsys.readouterr().err == ""
    assert not build._fused(replace(fits, window=SlidingWindow(size=5)), torch.float32)
    said = capsys.readouterr().err
    assert said.startswith("PyTorch's operations run this model, which is slower: sliding_window 5: ")


def test_weights_of_8_bits_draw_nearly_what_all_bits_do(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    full, small = (
        build.runner(folder, build.RunnerOptions(device="cpu", memory=1 << 20, quantization=kind))
        for kind in (None, "int8")
    )  # fmt: skip
    assert isinstance(full, TorchRunner)
    assert isinstance(small, TorchRunner)
    exact, rounded = full.decoder, small.decoder
    weight, layer = exact.lm_head.weight, rounded.lm_head
    assert layer.weight.dtype == torch.int8
    assert rounded.embed_tokens.weight.dtype == torch.float32
    error = (layer.weight * layer.scale[:, None] - weight).abs().amax(dim=1)
    assert (error <= layer.scale * 0.5001).all()
    tokens = torch.arange(40) % CONFIG.vocabulary
    with torch.inference_mode():
        wanted, got = (made.logits(made(tokens[None])) for made in (exact, rounded))
    assert (got - wanted).std() < 0.05 * wanted.std()


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        ("llama", {"quantization": "int3"}, "--quantization int3 is none: int8"),
        ("gpt2", {}, "--quantization int8 does not know this model: family gpt2: the code is for RMS norms"),
        ("llama", {"tensor_parallel": 2}, "goes with one process and no --adapter"),
        ("llama", {"dtype": torch.float16}, "torch.float16: the code is for torch.float32, torch.bfloat16"),
        ("llama", {"device": "cuda"}, "--quantization int8 is for CPUs, not for cuda"),
    ],
)
def test_weights_of_8_bits_that_cannot_be_are_refused(
    tmp_path: Path, family: str, options: dict[str, Any], message: str
) -> None:
    folder = saved(tmp_path, family)
    with pytest.raises(ModelError, match=re.escape(message)):
        build.runner(
            folder, build.RunnerOptions(memory=1 << 20, **({"device": "cpu", "quantization": "int8"} | options))
        )


def test_memory_for_less_than_a_block_is_refused() -> None:
    with pytest.raises(ModelError, match=f"{TOKEN * 8 - 1} bytes are too few.*one block of 8 tokens takes {TOKEN * 8}"):
        build.blocks_in(TOKEN * 8 - 1, TOKEN, block_size=8)


def test_a_runner_of_a_folder(tmp_path: Path) -> None:
    made = build.runner(saved(tmp_path), build.RunnerOptions(device="cpu", memory=1 << 20, block_size=4))
    assert (made.vocabulary, made.context, made.block_size) == (61, 64, 4)
    assert made.blocks == (1 << 20) // (4 * 2 * 2 * 2 * 8 * 4)


def test_a_runner_says_what_computes_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    path = saved(tmp_path)
    code = build.runner(path, build.RunnerOptions(device="cpu", memory=1 << 20)).code
    assert code.name == "llvm"
    assert code.words.startswith("machine code of the model's own for steps of up to 24 new tokens")
    halves = build.runner(path, build.RunnerOptions(device="cpu", memory=1 << 20, dtype=torch.float16)).code
    assert (halves.name, halves.native_steps) == ("pytorch", 0)
    assert halves.words.startswith("PyTorch's operators: torch.float16: the code is for ")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert "OMP_NUM_THREADS is 2" in build.runner(path, build.RunnerOptions(device="cpu", memory=1 << 20)).code.words


def test_a_limit_of_addresses_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ulimit -v`: an allocation beyond it fails, however much memory the machine has."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    assert available() == 0


def test_where_the_kernel_does_not_say_half_of_the_memory_is_available(tmp_path: Path) -> None:
    assert available(tmp_path / "none", tmp_path) > 1 << 28


def test_a_cpu_cache_takes_a_share_of_what_is_available() -> None:
    assert 0 < for_cache(torch.device("cpu")) <= available() // 3


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemAvailable: 800 kB\n")
    assert available(meminfo, tmp_path) == 800 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    for limit, left in (("max", 800 * 1024), ("5000", 4000), ("500", 0)):
        (tmp_path / "memory.max").write_text(limit + "\n")
        assert available(meminfo, tmp_path) == left


def test_a_cache_that_does_not_fit_is_refused_with_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "free", lambda device: 5 << 20)
    with pytest.raises(ModelError, match="a cache of 8 MiB does not fit: 5 MiB are free on cpu"):
        build.runner(saved(tmp_path), build.RunnerOptions(device="cpu", memory=8 << 20))


def test_memory_of_which_a_small_model_could_use_a_part_alone_must_be_there_too(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    with pytest.raises(ModelError, match=r"a cache of 1099511627776 MiB does not fit: [0-9]+ MiB are free on cpu"):
        build.runner(folder, build.RunnerOptions(device="cpu", memory=1 << 60))


def spelled(folder: Path, *, words: int = 50, first: str = "w0", **changes: Any) -> Path:
    """A model with a tokenizer of fewer words than its table has rows, as many are."""
    saved(folder, **changes)
    names = [first, *(f"w{number}" for number in range(1, words))]
    model = tokenizers.models.WordLevel({name: id for id, name in enumerate(names)}, unk_token=first)
    tokenizers.Tokenizer(model).save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("rows", [50, 60, 64, 80])
def test_a_draft_may_have_a_table_of_another_size(tmp_path: Path, rows: int) -> None:
    large, small = spelled(tmp_path / "large"), spelled(tmp_path / "small", vocab_size=rows)
    made = build.runner(large, build.RunnerOptions(device="cpu", memory=1 << 20, draft=small))
    assert (made.vocabulary, build.drafting(small, made).vocabulary) == (61, rows)


def test_a_draft_has_as_many_blocks_and_both_fit_into_the_memory(tmp_path: Path) -> None:
    large, small = spelled(tmp_path / "large"), spelled(tmp_path / "small", num_hidden_layers=1)
    made = build.runner(large, build.RunnerOptions(device="cpu", memory=1 << 20, block_size=4, draft=small))
    assert made.blocks == (1 << 20) // (4 * 3 * 2 * 2 * 8 * 4)  # three layers together
    draft = build.drafting(small, made)
    assert (draft.blocks, draft.block_size, draft.context) == (made.blocks, 4, 64)


@pytest.mark.parametrize(
    ("small", "options", "message"),
    [
        ({"words": 49}, {}, "a draft model needs the model's tokenizer, and its token 49 is nothing, not 'w49'"),
        ({"first": "a"}, {}, "a draft model needs the model's tokenizer, and its token 0 is 'a', not 'w0'"),
        ({"max_position_embeddings": 32}, {}, "its context is 32, the model's 64: --max-model-len 32 makes them fit"),
        ({}, {"tensor_parallel": 2}, "leave --tensor-parallel-size out, or --speculate ngram"),
    ],
)
def test_a_draft_that_cannot_guess_for_the_model_is_refused(
    tmp_path: Path, small: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    large, draft = spelled(tmp_path / "large"), spelled(tmp_path / "small", **small)
    with pytest.raises(ModelError, match=re.escape(message)):
        build.runner(large, build.RunnerOptions(device="cpu", memory=1 << 20, draft=draft, **options))


def test_a_shorter_context_makes_a_draft_with_a_short_one_fit(tmp_path: Path) -> None:
    large, draft = spelled(tmp_path / "large"), spelled(tmp_path / "small", max_position_embeddings=32)
    assert build.runner(large, build.RunnerOptions(device="cpu", memory=1 << 20, draft=draft, longest=32)).context == 32


def test_a_draft_on_a_gpu_is_refused_as_untried(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="--draft-model is not tried on cuda yet: --device cpu, or --speculate ngram"):
        build.runner(saved(tmp_path), build.RunnerOptions(device="cuda", draft=tmp_path))
