"""The engine: which inputs it takes, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError, UnsupportedOperator

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


@pytest.mark.parametrize(("kind", "said"), [(onnx.TensorProto.BFLOAT16, "bfloat16"), (onnx.TensorProto.STRING, "text")])
def test_an_input_of_a_type_without_kernels(kind: int, said: str) -> None:
    b = Builder(20, x=(kind, [4]))
    with pytest.raises(UnsupportedOperator, match=f"input 'x' is {said}: the engine computes in float32, "):
        Engine(graph(b, (b("Identity", "x"), kind, 1)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "input 'x' is missing: float32 \\[batch, 8\\]"),
        ({"X": normal(2, 8)}, "no input 'X': it has x"),
        ({"x": normal(2, 8).astype(np.float64)}, r"input 'x' is float64, .* array\.astype\(float32\)"),
        ({"x": normal(2, 7)}, r"shape \[2, 7\], .* axis 1 must be 8"),
        ({"x": normal(8)}, r"shape \[8\], .* 2 axes"),
    ],
)
def test_inputs_that_do_not_fit(given: dict[str, np.ndarray], said: str) -> None:
    b = Builder(20, x=ROWS)
    with pytest.raises(OnnxError, match=said):
        Engine(graph(b, (b("Relu", "x"), FLOAT, 2))).run(given)


def test_an_empty_batch_gives_an_empty_result() -> None:
    b = Builder(20, x=ROWS)
    y = b("Softmax", b("Relu", b("Gemm", "x", normal(8, 4), normal(4))))
    made = graph(b, (y, FLOAT, 2))
    assert Engine(made).run({"x": normal(0, 8)}).outputs[y].shape == (0, 4)
