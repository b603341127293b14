"""Operators that move nothing: views by strides."""

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
ROWS = (FLOAT, ["batch", 8])


def test_views_and_arithmetic_on_shapes_cost_no_launch() -> None:
    b = Builder(20, x=ROWS)
    batch = b("Shape", "x", start=0, end=1)
    x = b("Transpose", b("Reshape", "x", b("Concat", batch, np.array([2, 4]), axis=0)), perm=[0, 2, 1])
    x = b("Slice", b("Expand", b("Unsqueeze", x, np.array([0])), np.array([3, 1, 1, 1])), np.array([1]), np.array([2]))
    made = graph(b, (x, FLOAT, 4))
    x = normal(5, 8)
    result = Engine(made).run({"x": x})
    assert np.array_equal(result.outputs[made.outputs[0].name], x.reshape(1, 5, 2, 4).swapaxes(2, 3))
    assert {node.where for node in result.nodes} == {"view", "host"}
    assert [launch for node in result.nodes for launch in node.launches] == []


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [[1, 2, 2, 1], [0, -1, 3, 2], [7, 0, 0, 9]])
def test_an_axis_padded_by_its_own_elements(mode: str, pads: list[int]) -> None:
    b = Builder(20, x=(FLOAT, ["n", 4]))
    made = graph(b, (b("Pad", "x", np.array(pads), mode=mode), FLOAT, 2))
    x = normal(3, 4)
    (y,) = Engine(made).run({"x": x}).outputs.values()
    cut = x[:, -min(pads[1], 0) :]
    widths = [(pads[0], pads[2]), (max(pads[1], 0), pads[3])]
    if pads[1] >= 0:
        assert np.array_equal(y, np.pad(cut, widths, mode=mode))
    assert y.shape == (3 + pads[0] + pads[2], 4 + pads[1] + pads[3])


@pytest.mark.parametrize(
    ("op", "attributes"), [("DepthToSpace", {}), ("DepthToSpace", {"mode": "CRD"}), ("SpaceToDepth", {})]
)
def test_blocks_of_pixels_are_channels(op: str, attributes: dict[str, str]) -> None:
    shape = [2, 8, 3, 5] if op == "DepthToSpace" else [2, 3, 4, 6]
    b = Builder(20, x=(FLOAT, shape))
    model = b.model((b(op, "x", blocksize=2, **attributes), FLOAT, 4))
    x = normal(*shape)
    (y,) = Engine(graph_of(model, "m.onnx")).run({"x": x}).outputs.values()
    assert np.array_equal(y, onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0])
