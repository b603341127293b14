"""Which folder a command means."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.models.errors import ModelError
from gridstride.models.huggingface.find import find


def model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_a_named_folder_is_taken(tmp_path: Path) -> None:
    assert find(str(model(tmp_path / "m"))) == tmp_path / "m"


def test_without_a_name_the_model_trained_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="run `gridstride train` first, or name a model folder"):
        find(None)
    model(tmp_path / "runs" / "stdlib" / "model")
    assert find(None) == Path("runs/stdlib/model")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", "there is no folder nowhere$"),
        ("def read(x", "a text to go on with is given with --prompt"),
        ("meta-llama/Llama-3.2-1B", "nothing is downloaded"),
        ("empty", "is no model folder: there is no config.json in it, it is empty"),
        ("run", "did you mean run/model"),
        ("adapter", "it is an adapter: gridstride serve BASE --adapter NAME=adapter serves it"),
        ("run/model/config.json", "is a file: name the folder"),
    ],
)
def test_a_name_that_is_none_is_told(name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path / "run" / "model")
    (tmp_path / "empty").mkdir()
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match=told):
        find(name)
