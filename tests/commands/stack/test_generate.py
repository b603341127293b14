"""`gridstride generate`: what it prints, and what it refuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny import write_model

from gridstride.commands.options.stack_options import ModelChoice, TextOptions
from gridstride.commands.stack import generate, model
from gridstride.commands.terminal import WrongUse


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


def run(path: Path | str | None, capsys: pytest.CaptureFixture[str], **words: Any) -> str:
    given = {
        "prompt": "def add(", "n": 1, "stop": (), "echo": False, "stream": None, "device": "cpu", "dtype": "auto",
        "as_json": False, "max_tokens": 8, "temperature": 0.0,
    }  # fmt: skip
    given |= words
    chosen = ModelChoice(
        None if path is None else str(path), given.pop("device"), given.pop("dtype"), given.pop("quantization", None)
    )
    texts = TextOptions(**{name: given.pop(name) for name in ("prompt", "n", "stop", "echo", "stream")})
    assert generate.run(chosen, texts, **given)
    return capsys.readouterr().out


def test_the_text_goes_on(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(run(path, capsys, as_json=True))
    (choice,) = made["choices"]
    assert run(path, capsys) == choice["text"] + "\n"
    assert (choice["finish_reason"], len(choice["tokens"])) == ("length", 8)
    assert made["prompt_tokens"] > 0
    assert made["tokens_per_second"] > 0


def test_a_streamed_text_is_the_same(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(path, capsys, stream=True, echo=True) == "def add(" + run(path, capsys)


def test_a_seed_draws_the_same_texts_again(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"n": 3, "temperature": 1.0, "seed": 5, "as_json": True}
    first, again = (json.loads(run(path, capsys, **words))["choices"] for _ in range(2))
    assert first == again
    assert len({choice["text"] for choice in first}) == 3


def test_several_texts_are_told_apart(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(path, capsys, n=2)
    assert "--- 1 of 2 (length) ---" in shown
    assert "--- 2 of 2 (length) ---" in shown


def test_a_stop_text_ends_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(path, capsys).rstrip("\n")
    assert run(path, capsys, stop=(whole[3:5],)) == whole[: whole.index(whole[3:5])] + "\n"


@pytest.mark.parametrize("prompt", ["-", None])
def test_the_prompt_may_come_from_stdin(
    prompt: str | None, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(path, capsys)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"def add(")))
    assert run(path, capsys, prompt=prompt) == expected


def test_the_folders_own_wishes_count_where_there_are_no_others(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    likeliest = run(path, capsys)
    config = path / "generation_config.json"
    before = config.read_text()
    try:
        config.write_text(json.dumps({"do_sample": False}))
        assert run(path, capsys, temperature=None) == likeliest
        config.write_text(json.dumps({"temperature": 100.0}))
        assert run(path, capsys, temperature=None, seed=1) != likeliest
    finally:
        config.write_text(before)


def test_weights_of_8_bits_say_something(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(run(path, capsys, as_json=True, quantization="int8"))["choices"][0]["tokens"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a \udcff"}, "the prompt is not text in UTF-8"),
        ({"prompt": "def add " * 99}, r"the prompt has \d+ tokens; with one more at least, 128 fit"),
        ({"max_tokens": 500}, "max_tokens=500 make .* context is 128"),
        ({"n": 0}, "--n 0"),
        ({"n": 10_000}, "--n 10000"),
        ({"max_tokens": 0}, "--max-tokens 0 must be from 1 to 16777216"),
        ({"temperature": -1.0}, "--temperature -1"),
        ({"temperature": float("nan")}, "--temperature nan"),
        ({"top_p": 1.5}, "--top-p 1.5"),
        ({"top_k": -1}, "--top-k -1"),
        ({"seed": -1}, "--seed -1"),
        ({"stop": ("",)}, "--stop needs a text"),
        ({"dtype": "int3"}, "--dtype int3 is none of auto, float32"),
        ({"device": "abacus"}, "--device abacus is none"),
        ({"quantization": "int3"}, "--quantization int3 is none: int8"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    words: dict[str, Any], told: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WrongUse, match=told):
        run(path, capsys, **words)


def test_stdin_that_is_no_text_is_refused(path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\xff")))
    with pytest.raises(WrongUse, match="stdin is not text in UTF-8: byte 2"):
        run(path, capsys, prompt="-")


def test_a_closed_stdin_is_told(path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(WrongUse, match="stdin is closed"):
        run(path, capsys, prompt=None)


def test_no_model_is_told(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongUse, match="run `gridstride train` first"):
        run(None, capsys)


def test_a_broken_folder_is_told(tmp_path: Path, capsys: Any) -> None:
    path = write_model(tmp_path)
    (path / "model.safetensors").write_bytes(b"x" * 99)
    with pytest.raises(WrongUse, match="is truncated or no safetensors file"):
        run(path, capsys)


def test_missing_packages_are_told(path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(WrongUse, match=r"torch not installed: pip install 'gridstride\[torch\]'"):
        run(path, capsys)


def test_what_could_command_a_terminal_is_not_shown_on_one() -> None:
    assert model.shown("a\x1b[2Jb\r\tc\nd\x9b") == "a\ufffd[2Jb\ufffd\tc\nd\ufffd"


def test_a_mistake_is_one_line_and_exit_2(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gridstride", "generate", "--prompt", "x", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "run `gridstride train` first" in json.loads(done.stdout)["error"]
    assert len(done.stderr.splitlines()) == 1
