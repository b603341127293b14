"""Products: which kernel computes them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from onnx import TensorProto
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


@pytest.mark.parametrize("shape", [(3, 4), (70, 130), (2, 5, 4)])
def test_products_of_doubles_have_their_precision(shape: tuple[int, ...]) -> None:
    x, w = (np.random.default_rng(n).standard_normal(size) for n, size in enumerate((shape, (shape[-1], 6))))
    b = Builder(20, x=(TensorProto.DOUBLE, list(shape)))
    y = b("Relu", b("Add", b("MatMul", "x", w), np.ones(6)))
    (out,) = Engine(graph(b, (y, TensorProto.DOUBLE, len(shape)))).run({"x": x}).outputs.values()
    np.testing.assert_allclose(out, np.maximum(x @ w + 1, 0), rtol=1e-12, atol=1e-12)


def test_products_of_bfloat16_are_summed_in_single_precision() -> None:
    """In bfloat16 a sum of ones ends at 256, where 1 more is less than half a step."""
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="onnx brings it along")
    x, w = np.ones((2, 600), ml_dtypes.bfloat16), np.ones((600, 3), ml_dtypes.bfloat16)
    b = Builder(20, x=(TensorProto.BFLOAT16, ["n", 600]))
    (out,) = Engine(graph(b, (b("MatMul", "x", w), TensorProto.BFLOAT16, 2))).run({"x": x}).outputs.values()
    assert out.dtype == ml_dtypes.bfloat16
    assert (out == ml_dtypes.bfloat16(600)).all()
