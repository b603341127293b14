"""Graphs as the engine has them: what it cannot have at all."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT

from gridstride.frameworks.onnx import UnsupportedOperator
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_an_operator_with_graphs_inside_is_refused() -> None:
    branch = onnx.helper.make_graph([], "branch", [], [])
    node = onnx.helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    with pytest.raises(UnsupportedOperator, match="choice is If, an operator with graphs inside"):
        graph_of(model, "m.onnx")
