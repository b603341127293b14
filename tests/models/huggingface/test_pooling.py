"""How a folder says what its vectors are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gridstride.models.errors import ModelError
from gridstride.models.huggingface.pooling import pooling


def folder(path: Path, values: dict[str, Any]) -> Path:
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps(values))
    return path


def test_the_last_token_where_nothing_is_said(tmp_path: Path) -> None:
    assert pooling(tmp_path) == "last"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, "last"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_what_the_folder_says(tmp_path: Path, values: dict[str, Any], expected: str) -> None:
    assert pooling(folder(tmp_path, values)) == expected


@pytest.mark.parametrize(
    "values",
    [
        {"pooling_mode_cls_token": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
        {"pooling_mode": "cls"},
        {"pooling_mode_mean_tokens": False},
    ],
)
def test_other_ways_are_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="supported"):
        pooling(folder(tmp_path, values))
