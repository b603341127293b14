"""Operators that move nothing: views by strides."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_views_and_arithmetic_on_shapes_cost_no_launch() -> None:
    b = Builder(20, x=ROWS)
    batch = b("Shape", "x", start=0, end=1)
    x = b("Transpose", b("Reshape", "x", b("Concat", batch, np.array([2, 4]), axis=0)), perm=[0, 2, 1])
    x = b("Slice", b("Expand", b("Unsqueeze", x, np.array([0])), np.array([3, 1, 1, 1])), np.array([1]), np.array([2]))
    made = graph(b, (x, FLOAT, 4))
    x = normal(5, 8)
    result = Engine(made).run({"x": x})
    assert np.array_equal(result.outputs[made.outputs[0].name], x.reshape(1, 5, 2, 4).swapaxes(2, 3))
    assert {node.where for node in result.nodes} == {"view", "host"}
    assert [launch for node in result.nodes for launch in node.launches] == []
