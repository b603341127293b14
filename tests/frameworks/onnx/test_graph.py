"""Graphs as the engine has them: what it cannot have at all."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, graph

from gridstride.frameworks.onnx import OnnxError, UnsupportedOperator
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_an_operator_with_graphs_inside_is_refused() -> None:
    body = onnx.helper.make_graph([], "body", [], [])
    node = onnx.helper.make_node("Scan", ["c"], ["y"], name="scan", body=body, num_scan_inputs=1)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    with pytest.raises(UnsupportedOperator, match=r"scan is Scan, an operator with graphs inside, .* If and Loop"):
        graph_of(model, "m.onnx")


def test_functions_of_the_model_are_inlined() -> None:
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("f", 1)]
    body = [onnx.helper.make_node("Add", ["a", "a"], ["b"])]
    function = onnx.helper.make_function("f", "Twice", ["a"], ["b"], body, opsets[:1])
    ports = [onnx.helper.make_tensor_value_info(name, FLOAT, [2]) for name in "xy"]
    called = onnx.helper.make_node("Twice", ["x"], ["y"], domain="f")
    whole = onnx.helper.make_graph([called], "g", *([port] for port in ports))
    model = onnx.helper.make_model(whole, opset_imports=opsets, functions=[function], ir_version=10)
    assert graph_of(model, "m.onnx").count() == {"Add": 1}


@pytest.mark.parametrize(
    ("nodes", "opset", "said"),
    [
        ([("Relu", {})], 6, "opset 6 is none of 7 to "),
        ([("Relu", {})], 999, "opset 999 is none of 7 to "),
        ([("Transpose", {"perm": [0, 0]})], 20, "is no valid ONNX model: .*repeated value"),
        ([("MaxPool", {"kernel_shape": [-2]})], 20, "is no valid ONNX model: .*positive values"),
    ],
)
def test_what_contradicts_its_operators(nodes: list[tuple[str, dict[str, object]]], opset: int, said: str) -> None:
    (op, attributes), sizes = nodes[0], [1, 2, 3] if nodes[0][0] == "MaxPool" else [2, 3]
    b = Builder(opset, x=(FLOAT, sizes))
    with pytest.raises(OnnxError, match=said):
        graph(b, (b(op, "x", **attributes), FLOAT, len(sizes)))


def test_a_size_below_0() -> None:
    b = Builder(20, x=(FLOAT, [-3]))
    with pytest.raises(OnnxError, match=r"'x' has a size below 0: \[-3\]"):
        graph(b, (b("Relu", "x"), FLOAT, 1))


def test_an_attribute_that_came_later() -> None:
    if onnx.defs.onnx_opset_version() < 28:
        pytest.skip("of opset 28")
    b = Builder(28, x=(FLOAT, [1, 4, 2, 2]))
    with pytest.raises(UnsupportedOperator, match=r"SpaceToDepth.*mode came after opset 25"):
        graph(b, (b("SpaceToDepth", "x", blocksize=2, mode="CRD"), FLOAT, 4))
