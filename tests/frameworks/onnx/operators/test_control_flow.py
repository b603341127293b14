"""Graphs inside nodes, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx

from gridstride.frameworks.onnx import Engine, OnnxError
from gridstride.frameworks.onnx.check import run_session, session_of
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")

CHOICE = """
<ir_version: 10, opset_import: ["": 20]>
choice (bool c, float[n] x) => (float[n] y) {
  twice = Add(x, x)
  z = If (c) <
    then_branch = then () => (float[n] t) { w = Constant <value_floats: floats = [1.0, 2.0, 3.0]> ()
      t = If (c) <then_branch = a () => (float[n] t2) { t2 = Add(twice, w) }, else_branch = b () => (float[n] t2)
        { t2 = Identity(x) }> },
    else_branch = other () => (float[n] t) { w = Relu(x) t = Mul(w, twice) }
  >
  y = Neg(z)
}
"""
TURNS = """
<ir_version: 10, opset_import: ["": 20]>
turns (int64 most, float[2] x) => (float[2] y, float[k, 2] all, int64[k] numbers) {
  limit = Constant <value_float: float = 40.0> ()
  y, all, numbers = Loop (most, "", x) <
    body = body (int64 i, bool go, float[2] s) => (bool more, float[2] next, float[2] kept, int64 number) {
      two = Constant <value_float: float = 2.0> ()
      next = Mul(s, two)
      total = ReduceSum <keepdims: int = 0> (next)
      more = Less(total, limit)
      kept = Add(next, x)
      number = Mul(i, i)
    }
  >
}
"""


def _compared(text: str, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    for fused in (True, False):
        outputs = Engine(graph_of(model, "m.onnx"), fused=fused).run(inputs).outputs
        for name, wanted in run_session(session_of(model, "m.onnx"), inputs).items():
            assert outputs[name].dtype == wanted.dtype
            np.testing.assert_array_equal(outputs[name], wanted)
    return list(outputs.values())


@pytest.mark.parametrize("taken", [True, False])
def test_one_of_two_branches_runs(taken: bool) -> None:
    (y,) = _compared(CHOICE, {"c": np.array(taken), "x": np.array([1, -2, 3], np.float32)})
    assert y.tolist() == ([-3, 2, -9] if taken else [-2, 0, -18])


@pytest.mark.parametrize(("most", "turns"), [(3, 3), (100, 5)])
def test_a_loop_ends_by_its_number_or_its_condition(most: int, turns: int) -> None:
    x = np.array([1, 0.5], np.float32)
    y, kept, numbers = _compared(TURNS, {"most": np.array(most), "x": x})
    assert y.tolist() == (x * 2**turns).tolist()
    assert kept.shape == (turns, 2)
    assert numbers.tolist() == [i * i for i in range(turns)]


def test_a_loop_of_no_turns_gives_what_it_was_given() -> None:
    engine = Engine(graph_of(onnx.parser.parse_model(TURNS), "m.onnx"))
    y, kept, numbers = engine.run({"most": np.array(0), "x": np.ones(2, np.float32)}).outputs.values()
    assert (y.tolist(), kept.shape, numbers.shape, numbers.dtype) == ([1, 1], (0, 2), (0,), np.int64)


def test_what_goes_wrong_inside_names_both_nodes() -> None:
    text = CHOICE.replace("t = Mul(w, twice)", 't = Gather(w, five)').replace(
        "twice = Add(x, x)", "twice = Add(x, x) five = Constant <value_ints: ints = [5]> ()"
    )  # fmt: skip
    engine = Engine(graph_of(onnx.parser.parse_model(text), "m.onnx"))
    with pytest.raises(OnnxError, match=r"If_2 \(If\): If_2/else_branch/Gather_1 \(Gather\): an index is out of range"):
        engine.run({"c": np.array(False), "x": np.ones(3, np.float32)})


def test_results_of_a_graph_inside_need_no_type() -> None:
    model = onnx.parser.parse_model(TURNS)
    (body,) = (each.g for node in model.graph.node for each in node.attribute if each.name == "body")
    for value in body.output:
        value.ClearField("type")
    engine = Engine(graph_of(model, "m.onnx"))
    assert next(iter(engine.run({"most": np.array(1), "x": np.ones(2, np.float32)}).outputs.values())).tolist() == [
        2,
        2,
    ]
    with pytest.raises(OnnxError, match="it ends before its first turn"):
        engine.run({"most": np.array(0), "x": np.ones(2, np.float32)})
