"""What elementwise operators compute: beside NumPy, where it is easy to lose something."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")
X = np.array([-2, -0.5, 0, 3, np.nan, np.inf, -np.inf], np.float32)


@pytest.mark.parametrize("op", ["Relu", "Sign", "HardSigmoid", "HardSwish", "LeakyRelu", "Abs", "Softplus", "Mish"])
def test_nan_stays(op: str) -> None:
    b = Builder(20, x=(FLOAT, ["n"]))
    (y,) = Engine(graph(b, (b(op, "x"), FLOAT, 1))).run({"x": X}).outputs.values()
    assert np.isnan(y).tolist() == np.isnan(X).tolist() or op in ("HardSwish", "Mish")  # -inf times 0 is NaN there
    assert np.isnan(y[4])


def test_nan_stays_in_the_end_of_a_product() -> None:
    b = Builder(20, x=(FLOAT, ["n", 4]))
    made = graph(b, (b("Relu", b("MatMul", "x", normal(4, 3))), FLOAT, 2))
    x = normal(2, 4)
    x[1, 0] = np.nan
    (y,) = Engine(made).run({"x": x}).outputs.values()
    assert np.isnan(y).tolist() == [[False] * 3, [True] * 3]


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64])
def test_remainders(kind: int, fmod: int) -> None:
    if kind != onnx.TensorProto.INT64 and not fmod and onnx.defs.get_schema("Mod").since_version < 26:
        pytest.skip("Mod of floats needs fmod here")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    a, c = np.array([7, -7, 7, -7], dtype), np.array([3, 3, -3, -3], dtype)
    b = Builder(onnx.defs.onnx_opset_version(), a=(kind, [4]))
    (y,) = Engine(graph(b, (b("Mod", "a", c, fmod=fmod), kind, 1))).run({"a": a}).outputs.values()
    assert y.tolist() == (np.fmod if fmod else np.mod)(a, c).tolist()


@pytest.mark.parametrize("op", ["Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Shrink", "IsInf"])
def test_functions_are_the_references(op: str) -> None:
    b = Builder(20, x=(FLOAT, ["n"]))
    attributes = {"lambd": 0.6, "bias": 0.1} if op == "Shrink" else {"detect_negative": 0} if op == "IsInf" else {}
    model = b.model((b(op, "x", **attributes), onnx.TensorProto.BOOL if op == "IsInf" else FLOAT, 1))
    x = np.array([-2, -0.7, -0.0, 0.3, 1, 2.5, np.nan, np.inf, -np.inf], np.float32)
    (y,) = Engine(graph_of(model, "m.onnx")).run({"x": x}).outputs.values()
    with np.errstate(all="ignore"):
        (reference,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    if op == "Shrink":
        reference[6] = 0  # in neither of the two ranges that the specification has
    np.testing.assert_allclose(y, reference, rtol=1e-5)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_more_bits_than_there_are_leave_nothing(direction: str) -> None:
    b = Builder(20, x=(onnx.TensorProto.UINT8, [3]))
    shifted = b("BitShift", "x", np.array([1, 7, 9], np.uint8), direction=direction)
    y = b("BitwiseXor", b("BitwiseNot", shifted), np.full(3, 255, np.uint8))
    made = graph(b, (y, onnx.TensorProto.UINT8, 1))
    (found,) = Engine(made).run({"x": np.array([255, 255, 255], np.uint8)}).outputs.values()
    assert found.tolist() == ([254, 128, 0] if direction == "LEFT" else [127, 1, 0])
