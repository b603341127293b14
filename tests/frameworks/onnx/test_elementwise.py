"""Chains of elementwise nodes: one kernel, counted."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_a_chain_is_one_kernel_and_is_counted() -> None:
    b = Builder(20, x=ROWS)
    made = graph(b, (b("Tanh", b("Mul", b("Add", "x", normal(8)), np.float32(2))), FLOAT, 2))
    engine = Engine(made)
    result = engine.run({"x": normal(4, 8)}, observe=True)
    (node,) = result.nodes
    assert node.op == "Add+Mul+Tanh"
    (launch,) = node.launches
    assert launch.kernel == "add_mul_tanh_float"
    assert launch.ms is not None
    assert launch.instructions
    assert launch.sectors
    assert engine.run({"x": normal(4, 8)}).nodes[0].ms is None
