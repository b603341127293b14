"""How a folder wants its model sampled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gridstride.models.errors import ModelError
from gridstride.models.huggingface.generation import sampling


def said(folder: Path, **values: Any) -> dict[str, float]:
    (folder / "generation_config.json").write_text(json.dumps(values))
    return sampling(folder)


def test_nothing_is_said_by_default(tmp_path: Path) -> None:
    assert sampling(tmp_path) == {}
    assert said(tmp_path, eos_token_id=3, temperature=None) == {}


def test_the_makers_wishes_are_read(tmp_path: Path) -> None:
    values = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0, "repetition_penalty": 1.05}
    assert said(tmp_path, do_sample=True, **values) == values


def test_a_top_k_of_zero_means_all(tmp_path: Path) -> None:
    assert said(tmp_path, top_k=0) == {}


def test_who_does_not_want_sampling_gets_the_likeliest(tmp_path: Path) -> None:
    assert said(tmp_path, do_sample=False, temperature=0.7)["temperature"] == 0


@pytest.mark.parametrize(
    "values",
    [{"temperature": -1}, {"temperature": "hot"}, {"top_p": 0}, {"top_p": 1.5}, {"top_k": -3}, {"top_k": 1.5},
     {"min_p": 2}, {"repetition_penalty": 0}, {"temperature": float("inf")}],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(values: dict[str, Any], tmp_path: Path) -> None:
    (name,) = values
    with pytest.raises(ModelError, match=f"generation_config.json: {name} is"):
        said(tmp_path, **values)
