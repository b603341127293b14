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


@pytest.mark.parametrize(
    ("kind", "said"), [(onnx.TensorProto.COMPLEX64, "complex64"), (onnx.TensorProto.STRING, "text")]
)
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


def test_an_input_with_a_value_in_the_file() -> None:
    b = Builder(20, x=(FLOAT, ["n", 8]), w0=(FLOAT, [8]))
    made = graph(b, (b("Add", "x", normal(8)), FLOAT, 2))
    with pytest.raises(OnnxError, match="input 'w0' has a value in the file, which is used"):
        Engine(made).run({"x": normal(2, 8), "w0": normal(8)})


def test_values_that_a_node_cannot_be_computed_of() -> None:
    b = Builder(20, x=(FLOAT, ["n"]), sizes=(onnx.TensorProto.INT64, [2]), step=(onnx.TensorProto.INT64, [1]))
    first, _ = b("Split", "x", "sizes", outputs=2)
    made = graph(b, (b("Slice", first, np.array([0]), np.array([9]), np.array([0]), "step"), FLOAT, 1))
    engine, x = Engine(made), normal(5)
    for sizes, step, said in (([3, 3], 1, r"5 elements of axis 0 are not \[3, 3\]"), ([2, 3], 0, "step 0 of axis 0")):
        with pytest.raises(OnnxError, match=said):
            engine.run({"x": x, "sizes": np.array(sizes), "step": np.array([step])})
    b = Builder(21, x=(FLOAT, ["n", 4, 2]))
    made = graph(b, (b("GroupNormalization", "x", normal(4), normal(4), num_groups=0), FLOAT, 3))
    with pytest.raises(OnnxError, match="num_groups is 0: 4 channels are not so many groups"):
        Engine(made).run({"x": normal(1, 4, 2)})
