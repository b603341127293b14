"""Constant folding: what depends on weights alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine
from gridstride.frameworks.onnx.folding import fold_constants

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_what_depends_on_weights_alone_is_folded() -> None:
    b = Builder(20, x=ROWS)
    shape = b("Concat", np.array([-1]), b("Mul", np.array([2]), np.array([2])), axis=0)
    folded = graph(b, (b("Reshape", "x", shape), FLOAT, 2))
    assert fold_constants(folded) == 2
    assert [node.op for node in folded.nodes] == ["Reshape"]
    assert Engine(folded).run({"x": normal(2, 8)}).outputs[folded.outputs[0].name].shape == (4, 4)
