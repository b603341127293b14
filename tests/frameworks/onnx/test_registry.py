"""Plugins: functions of users for operators; what is refused without one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, normal

import gridstride as gs
from gridstride.frameworks.onnx import Engine, OnnxError, UnsupportedOperator, plugin
from gridstride.frameworks.onnx.graph import Graph, Node, graph_of
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.registry import PLUGINS
from gridstride.frameworks.onnx.tensors import Tensor

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


DOUBLED = """
extern "C" __global__ void doubled(const float* x, float* y, int n, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}
"""


def doubled(run: Launcher, node: Node, x: Tensor) -> Tensor:
    x, y = run.contiguous(x), run.empty(x.shape, x.dtype)
    run.launch(gs.cuda(DOUBLED)["doubled"], -(-x.size // 128), 128, (x, y, x.size, node.attributes["factor"]))
    return y


def custom() -> Graph:
    b = Builder(20, x=ROWS)
    y = b("Relu", b("Doubled", "x", domain="com.example", factor=2.0))
    model = b.model((y, FLOAT, 2))
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    return graph_of(model, "model.onnx")


def test_a_plugin_of_one_engine() -> None:
    engine = Engine(custom(), plugins={"com.example::Doubled": doubled})
    x = normal(3, 8)
    result = engine.run({"x": x})
    assert np.array_equal(result.outputs[engine.graph.outputs[0].name], np.maximum(2 * x, 0))
    assert [launch.kernel for launch in result.nodes[0].launches] == ["doubled"]


def test_a_plugin_of_all_engines() -> None:
    plugin("com.example::Doubled")(doubled)
    try:
        assert Engine(custom()).run({"x": normal(3, 8)}).outputs
    finally:
        del PLUGINS["com.example::Doubled"]
    with pytest.raises(OnnxError, match="a name such as"):
        plugin("")


def test_an_unknown_operator_is_named_with_what_there_is() -> None:
    with pytest.raises(UnsupportedOperator, match=r"com\.example::Doubled \(node Doubled_0\).*Supported: .*Conv"):
        Engine(custom())
