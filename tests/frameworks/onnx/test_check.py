"""The check of a file: three shapes."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from pathlib import Path

import torch
from small_models import FLOAT

from gridstride.frameworks.onnx import check_file
from gridstride.frameworks.onnx.export import Example, export_module

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_a_good_one_is_checked_on_three_shapes(model: Path) -> None:
    checked = check_file(model)
    assert checked.opset == 20
    assert checked.operators == {"MatMul": 1}
    assert [shape.sizes for shape in checked.shapes] == [{"batch": 2}, {"batch": 1}, {"batch": 3}]
    assert checked.passed
    assert checked.max_error is None


def test_a_module_that_gives_a_dictionary(tmp_path: Path) -> None:
    class Both(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"more": x + 1, "twice": x * 2}

    example = Example(Both(), (torch.ones(2, 3),), {})
    export_module(example, tmp_path / "m.onnx")
    assert check_file(tmp_path / "m.onnx", example).max_error == 0
