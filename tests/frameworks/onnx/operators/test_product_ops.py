"""Products: which kernel computes them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_a_large_product_runs_on_the_ladder() -> None:
    b = Builder(20, x=(FLOAT, [256, 20]))
    weight = normal(20, 256)
    y = b("MatMul", "x", weight)
    x = normal(256, 20, seed=3)
    result = Engine(graph(b, (y, FLOAT, 2))).run({"x": x})
    assert [launch.kernel for launch in result.nodes[0].launches] == ["matmul_double_buffer"]
    np.testing.assert_allclose(result.outputs[y], x @ weight, atol=1e-4)
