"""The check of a file: three shapes."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from pathlib import Path

from small_models import FLOAT

from gridstride.frameworks.onnx import check_file

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_a_good_one_is_checked_on_three_shapes(model: Path) -> None:
    checked = check_file(model)
    assert checked.opset == 20
    assert checked.operators == {"MatMul": 1}
    assert [shape.sizes for shape in checked.shapes] == [{"batch": 2}, {"batch": 1}, {"batch": 3}]
    assert checked.passed
    assert checked.max_error is None
