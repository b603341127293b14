"""Quantization: the range of an array."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


@pytest.mark.parametrize("rows", [3, 257])
def test_the_range_of_small_and_large_arrays_is_found(rows: int) -> None:
    b = Builder(20, x=(FLOAT, ["batch", 256]))
    q, scale, zero = b("DynamicQuantizeLinear", "x", outputs=3)
    made = graph(b, (q, onnx.TensorProto.UINT8, 2), (scale, FLOAT, 0), (zero, onnx.TensorProto.UINT8, 0))
    x = normal(rows, 256) + 1
    result = Engine(made).run({"x": x})
    step = (np.float32(x.max()) - np.float32(x.min())) / np.float32(255)
    assert result.outputs[scale] == step
    assert result.outputs[zero] == round(-x.min() / step)
    assert abs((result.outputs[q].astype(int) - result.outputs[zero]) * step - x).max() < step
    assert len(result.nodes[0].launches) == (2 if rows == 3 else 5)
