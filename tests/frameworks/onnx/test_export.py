"""Export: which functions of a user's file can be, in one sentence what is wrong with the others."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from gridstride.frameworks.onnx import OnnxError
from gridstride.frameworks.onnx.export import example_of

FILE = """
import torch

def good():
    return torch.nn.Linear(8, 4), torch.randn(2, 8)

def number():
    return 5, torch.randn(2, 8)

def other_names():
    return torch.nn.Linear(8, 4), torch.randn(2, 8), {"x": {0: "rows"}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "m.py").write_text(FILE)
    return tmp_path / "m.py"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (":number", r"must return \(module, example inputs\), not \(int, Tensor\)"),
        (":other_names", "names 'x', which forward has not: it has input"),
        ("", "m.py names no function: .*m.py:good"),
    ],
)
def test_what_cannot_be_exported(file: Path, function: str, said: str) -> None:
    with pytest.raises(OnnxError, match=said):
        example_of(f"{file}{function}")


def test_a_good_one(file: Path) -> None:
    assert example_of(f"{file}:good").dynamic == {"input": {0: "batch"}}
