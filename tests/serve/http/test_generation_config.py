"""A model's generation_config.json says how it is sampled where a request does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridstride.commands.options.serve_options import settings_of
from gridstride.commands.options.serve_words import ServeOptions
from gridstride.commands.terminal import WrongUse
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.http.requests.generate import CompletionRequest
from gridstride.serve.http.sampling import SequenceOptions, ServedModel, sequences
from gridstride.serve.process.protocol import Ready

READY = Ready(context=128, blocks=64, block_size=8, vocabulary=320, max_running=8, device="cpu")
OPTIONS = ServeOptions()


def sampled(folder: Path, **asked: object) -> Sampling:
    body = CompletionRequest(model="m", prompt="x", **asked)  # type: ignore[arg-type]
    defaults = settings_of(folder, OPTIONS).sampling
    model = ServedModel(READY, defaults=defaults)
    (one,) = sequences("id", body, [(1, 2)], model, SequenceOptions(prompt="prompt", max_tokens=4))
    return one.sampling


def test_the_models_own_values_are_the_defaults(tmp_path: Path) -> None:
    own = {"temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05, "do_sample": True}
    (tmp_path / "generation_config.json").write_text(json.dumps(own))
    found = sampled(tmp_path)
    assert (found.temperature, found.top_k, found.top_p, found.repetition_penalty) == (0.6, 20, 0.95, 1.05)


def test_what_a_request_says_counts_more(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"temperature": 0.6, "top_k": 20}')
    found = sampled(tmp_path, temperature=0.0, top_k=None)
    assert (found.temperature, found.top_k) == (0.0, 20)


def test_a_folder_without_one_is_sampled_as_openai_does(tmp_path: Path) -> None:
    found = sampled(tmp_path)
    assert (found.temperature, found.top_k, found.top_p) == (1.0, 0, 1.0)


def test_a_value_that_cannot_be_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"temperature": -1}')
    with pytest.raises(WrongUse, match="temperature"):
        settings_of(tmp_path, OPTIONS)
