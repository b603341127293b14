"""Norms: scales that broadcast."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")


def test_a_scale_is_broadcast_to_the_rows() -> None:
    b = Builder(20, x=(FLOAT, ["n", 3, 4]))
    made = graph(b, (b("LayerNormalization", "x", normal(4), normal(3, 1, seed=1), axis=1), FLOAT, 3))
    x = normal(2, 3, 4, seed=2)
    (y,) = Engine(made).run({"x": x}).outputs.values()
    mean, variance = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-5) * normal(4) + normal(3, 1, seed=1), atol=1e-5)


def test_a_scale_that_does_not_is_refused() -> None:
    b = Builder(20, x=(FLOAT, ["n", 3, 4]), scale=(FLOAT, ["m"]))
    made = graph(b, (b("LayerNormalization", "x", "scale"), FLOAT, 3))
    with pytest.raises(OnnxError, match=r"a scale or bias: the shapes \[5\], \[4\] do not broadcast"):
        Engine(made).run({"x": normal(1, 3, 4), "scale": normal(5)})
