"""Recurrent layers, against ONNX Runtime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnxruntime
from small_models import FLOAT, Builder, normal

from gridstride.frameworks.onnx import Engine, OnnxError
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def model(op: str, *, lengths: bool = False, state: bool = False, peepholes: bool = False, **attributes: Any) -> Any:
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    wide = GATES[op] * HIDDEN
    b = Builder(20, x=(FLOAT, [STEPS, BATCH, INPUTS]))
    weights = [normal(directions, wide, n, seed=n) / 2 for n in (INPUTS, HIDDEN, 2 * HIDDEN)]
    weights[2] = normal(directions, 2 * wide, seed=9)
    states = [normal(directions, BATCH, HIDDEN, seed=n) if state else "" for n in range(2 if op == "LSTM" else 1)]
    more = [normal(directions, 3 * HIDDEN, seed=5)] if peepholes else []
    lens = np.array([5, 2, 4], np.int32) if lengths else ""
    results = b(op, "x", *weights, lens, *states, *more, outputs=2 + (op == "LSTM"), hidden_size=HIDDEN, **attributes)
    return b.model(*((name, FLOAT, 4 - (number > 0)) for number, name in enumerate(results)))


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", [False, True])
def test_every_layer_in_every_direction(op: str, direction: str, given: bool) -> None:
    made = model(
        op, direction=direction, lengths=given, state=given, **({"linear_before_reset": 1} if op == "GRU" else {})
    )
    agree(made)


def test_a_gru_that_resets_the_state_before_its_product() -> None:
    agree(model("GRU", linear_before_reset=0, state=True))


def test_peepholes_and_other_activations() -> None:
    agree(model("LSTM", peepholes=True, activations=["Sigmoid", "Relu", "Tanh"]))


def agree(made: Any) -> None:
    x = normal(STEPS, BATCH, INPUTS, seed=3)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})
    found = Engine(graph_of(made, "model.onnx")).run({"x": x}).outputs
    for ours, theirs in zip(found.values(), expected, strict=True):
        assert ours.shape == theirs.shape
        assert np.allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [({"clip": 1.0}, "clip and input_forget are not computed"), ({"activations": ["Elu"]}, "the activation Elu")],
)
def test_what_is_not_computed_is_said(attributes: dict[str, Any], said: str) -> None:
    with pytest.raises(OnnxError, match=said):
        Engine(graph_of(model("RNN", **attributes), "m.onnx")).run({"x": normal(STEPS, BATCH, INPUTS)})
