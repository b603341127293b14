"""Elements by index: in range or refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, LONG, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def test_an_index_out_of_range_names_its_node() -> None:
    b = Builder(20, tokens=(LONG, ["length"]))
    engine = Engine(graph(b, (b("Gather", normal(4, 2), "tokens"), FLOAT, 2)))
    assert engine.token_limits == {"tokens": 4}
    assert engine.run({"tokens": np.array([3, -4])}).outputs
    with pytest.raises(
        OnnxError, match=r"Gather_0 \(Gather\): an index is out of range, of elements of shape \[4, 2\]"
    ):
        engine.run({"tokens": np.array([4])})


def test_indices_may_be_fewer_than_the_data_off_their_axis() -> None:
    b = Builder(20, x=(FLOAT, [3, 4]), i=(LONG, [2, 6]))
    places = np.array([[3, 0, -1, 2, 2, 1], [0, 0, 3, -4, 1, 1]])
    made = graph(b, (b("GatherElements", "x", "i", axis=1), FLOAT, 2))
    (y,) = Engine(made).run({"x": normal(3, 4), "i": places}).outputs.values()
    assert np.array_equal(y, np.take_along_axis(normal(3, 4)[:2], places, 1))
