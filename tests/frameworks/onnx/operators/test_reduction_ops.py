"""Reductions that could overflow on the way."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph

from gridstride.frameworks.onnx import Engine

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("keep", [0, 1])
def test_the_logarithm_of_a_sum_of_exponentials_of_large_numbers(keep: int) -> None:
    b = Builder(20, x=(FLOAT, ["n", 3]))
    made = graph(b, (b("ReduceLogSumExp", "x", np.array([-1]), keepdims=keep), FLOAT, 1 + keep))
    x = np.array([[500, 501, 499], [-1e4, -1e4, -1e4], [-np.inf, -np.inf, -np.inf], [0, np.inf, 1]], np.float32)
    (y,) = Engine(made).run({"x": x}).outputs.values()
    wanted = np.array([501 + np.log(1 + np.exp(-1) + np.exp(-2)), -1e4 + np.log(3), -np.inf, np.inf])
    assert y.shape == ((4, 1) if keep else (4,))
    np.testing.assert_allclose(y.reshape(-1), wanted, rtol=1e-6)
