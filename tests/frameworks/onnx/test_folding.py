"""Constant folding: what depends on weights alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import onnx
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError
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


def test_dropout_of_inference_is_its_input_with_a_mask_of_true() -> None:
    b = Builder(20, x=ROWS)
    y, mask = b("Dropout", "x", np.float32(0.5), np.bool_(False), outputs=2)
    made = graph(b, (y, FLOAT, 2), (mask, onnx.TensorProto.BOOL, 2))
    outputs = Engine(made).run({"x": normal(3, 8)}).outputs
    assert np.array_equal(outputs[y], normal(3, 8))
    assert outputs[mask].dtype == bool
    assert outputs[mask].shape == (3, 8)
    assert outputs[mask].all()


def test_dropout_that_trains_is_refused() -> None:
    b = Builder(20, x=ROWS)
    made = graph(b, (b("Dropout", "x", np.float32(0.5), np.bool_(True)), FLOAT, 2))
    with pytest.raises(OnnxError, match="training_mode is not false"):
        Engine(made)
