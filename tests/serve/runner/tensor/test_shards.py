"""A decoder in two processes gives what it gives in one."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from live import Live, real
from tiny import write_model

from gridstride.models.config import DecoderConfig, ExpertsConfig, SlidingWindow
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.huggingface import folder as folders
from gridstride.serve.runner.tensor import shards

SIZES: dict[str, Any] = {
    "vocabulary": 50, "width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_width": 8, "hidden": 48, "context": 64,
}  # fmt: skip
SHAPES = {
    "llama": DecoderConfig(**SIZES, mlp_bias=True, output_bias=True),
    "qwen2": DecoderConfig(**SIZES, family="qwen2", qkv_bias=True),
    "qwen3": DecoderConfig(**SIZES, family="qwen3", head_norm=True, tied=True),
    "granite": DecoderConfig(
        **SIZES, family="granite", embedding_scale=3.0, residual_scale=0.5, attention_scale=0.2, logit_divisor=2.0
    ),
    "gemma3_text": DecoderConfig(
        **SIZES, family="gemma3_text", head_norm=True, norm_around=True, unit_offset=True, scaled_embedding=True,
        query_scalar=24, attention_cap=5.0, activation="gelu_tanh_gated",
        window=SlidingWindow(size=3, full=(1,), rotary_base=1e3),
    ),
    "gpt2": DecoderConfig(
        **SIZES | {"kv_heads": 4}, family="gpt2", rotary_base=None, qkv_bias=True, output_bias=True, mlp_bias=True,
        norm="layer", activation="gelu_tanh", tied=True,
    ),
}  # fmt: skip


class Rounds:
    """Sums over ranks that run one after the other, a layer's half at a time: each is told what the others gave."""

    def __init__(self) -> None:
        self.given: list[list[torch.Tensor]] = []
        self._place = 0

    def begin(self) -> None:
        self._place = 0

    def sum(self, x: torch.Tensor) -> None:
        if self._place == len(self.given):
            self.given.append([])
            self.given[-1].append(x.clone())
            raise StopIteration
        x.copy_(torch.stack(self.given[self._place]).sum(dim=0))
        self._place += 1


@pytest.mark.parametrize("shape", SHAPES)
def test_the_parts_together_are_the_whole(shape: str) -> None:
    """Both ranks run up to the first sum that is not known, give their parts of it, and begin again."""
    torch.manual_seed(0)
    whole = Decoder(SHAPES[shape]).eval()
    for parameter in whole.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 1.0, 0.3)
    rounds = Rounds()
    parts = []
    for rank in range(2):
        part = Decoder(SHAPES[shape]).eval()
        part.load_state_dict(whole.state_dict())
        shards.keep(part, rank=rank, ranks=2, sum=rounds.sum)
        parts.append(part)
    tokens = torch.arange(20)[None]
    for _ in range(2 * SHAPES[shape].layers):
        given = []
        for part in parts:
            rounds.begin()
            known = len(rounds.given)
            with pytest.raises(StopIteration), torch.inference_mode():
                part(tokens)
            given += rounds.given[known]
            del rounds.given[known:]
        rounds.given.append(given)
    rounds.begin()
    with torch.inference_mode():
        torch.testing.assert_close(parts[1].logits(parts[1](tokens)), whole.logits(whole(tokens)), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("name", "ranks"), [("heads", 3), ("kv_heads", 4), ("hidden", 5)])
def test_a_decoder_that_cannot_be_cut_is_refused(name: str, ranks: int) -> None:
    with pytest.raises(ModelError, match=f"--tensor-parallel-size {ranks}: the model's"):
        shards.check(SHAPES["llama"], ranks)
    assert getattr(SHAPES["llama"], name) % ranks


def test_a_norm_of_all_heads_is_refused_where_no_rank_has_them_all() -> None:
    olmo = DecoderConfig(**SIZES, family="olmo2", joint_norm=True, norm_after=True)
    with pytest.raises(ModelError, match="--tensor-parallel-size 2: olmo2 norms all heads"):
        shards.check(olmo, 2)
    shards.check(olmo, 1)


def test_mixtures_of_experts_are_refused() -> None:
    mixtral = DecoderConfig(
        **SIZES, family="mixtral", experts=ExpertsConfig(count=4, per_token=2, hidden=8, normed=True)
    )
    with pytest.raises(ModelError, match="--tensor-parallel-size 2: mixtral has mixtures of experts"):
        shards.check(mixtral, 2)
    shards.check(mixtral, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("served") / "tiny")


def children(process: int) -> list[int]:
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def answers(live: Live) -> list[str]:
    prompts = ["def ", "import os\n" * 6, "naïve"]
    wishes = [{"max_tokens": 20}] * 3 + [{"guided_regex": "(abc, ){9}end", "max_tokens": 60}]
    asked = zip([*prompts, "repeat"], wishes, strict=True)
    return [live.complete(each, temperature=0, **wish).json()["choices"][0]["text"] for each, wish in asked]


def test_a_server_of_two_ranks(folder: Path) -> None:
    """The same texts and log-probabilities as of one; a rank that dies takes the engine with it, which comes again."""
    words = "--served-name fake --max-running 8 --cache-memory 2MiB --device cpu".split()
    body = {"echo": True, "logprobs": 1, "max_tokens": 0}
    with real(folder, *words) as alone:
        expected, scores = answers(alone), alone.complete("import os", **body).json()["choices"][0]["logprobs"]
    with real(folder, *words, "--tensor-parallel-size", "2", "--speculate", "ngram") as live:
        assert answers(live) == expected
        assert live.metrics()["spec_decode_num_accepted_tokens_total{}"] > 0
        given = live.complete("import os", **body).json()["choices"][0]["logprobs"]
        assert given["token_logprobs"][1:] == pytest.approx(scores["token_logprobs"][1:], abs=1e-4)
        (rank,) = children(live.ready["engine_pid"])
        os.kill(rank, signal.SIGKILL)
        live.until(lambda: live.complete("def ", max_tokens=1).status_code == 200)
        live.until(lambda: children(live.ready["engine_pid"]) == [])
        assert answers(live) == expected
    assert folders.read_config(folder).heads == 4
