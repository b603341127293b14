"""`gridstride evaluate`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Outcome, outcome
from tiny import write_model

from gridstride.models.huggingface import folder as folders
from gridstride.models.text.tokenizer import Tokenizer

TEXT = "def add(a, b):\n    return a + b\n" * 12


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "code.txt"
    file.write_text(TEXT)
    return file


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.jsonl"
    rows = [{"prompt": f"import {n}", "choices": ["os", "def add"], "answer": n % 2} for n in range(6)]
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Outcome:
    return outcome(capsys, "evaluate", *map(str, words), "--device", "cpu")


def test_perplexity_is_the_models_own(path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, path, "--data", text, "--window", 64, "--stride", 63, "--json")
    assert code == 0
    made = json.loads(out)
    (task,) = made["tasks"]
    ids, decoder = Tokenizer.load(path).encode(TEXT), folders.load(path)
    nats = 0.0
    for first in range(1, len(ids), 63):
        end = min(first + 63, len(ids))
        start = max(0, end - 64)
        window = torch.tensor(ids[start:end])[None]
        with torch.inference_mode():
            logprobs = decoder.logits(decoder(window))[0].float().log_softmax(dim=-1)
        nats -= float(logprobs[:-1].gather(-1, window[0, 1:, None])[first - start - 1 :].sum())
    assert task["kind"] == "perplexity"
    assert task["tokens"] == len(ids) - 1
    assert task["perplexity"] == pytest.approx(math.exp(task["nats_per_token"]))
    assert task["nats_per_token"] == pytest.approx(nats / (len(ids) - 1), abs=1e-4)


def test_both_kinds_in_one_call(path: Path, text: Path, questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, path, "--data", text, "--data", questions, "--json")
    tasks = json.loads(out)["tasks"]
    assert code == 0
    assert [task["kind"] for task in tasks] == ["perplexity", "choices"]
    assert tasks[1]["questions"] == 6
    assert 0 <= tasks[1]["accuracy"] <= 1
    _, shown, _ = run(capsys, path, "--data", text, "--data", questions, "--limit", 3)
    assert "perplexity" in shown
    assert "bits per byte" in shown
    assert "3 questions in" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--data FILE is missing"),
        (("--data", "/nowhere/a.txt"), "/nowhere/a.txt cannot be read"),
        (("--data", "TEXT", "--window", "1"), "--window 1 must be from 2"),
        (("--data", "TEXT", "--window", "900"), "--window 900: the model's context has room for 128"),
        (("--data", "TEXT", "--window", "20", "--stride", "30"), "--stride 30 must be below the window"),
        (("--data", "TEXT", "--limit", "0"), "--limit 0"),
    ],
)
def test_what_cannot_be_is_one_message(
    path: Path, text: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    given: list[Any] = [text if word == "TEXT" else word for word in words]
    code, out, err = run(capsys, path, *given)
    assert (code, out) == (2, "")
    assert message in err
