"""Losses of classes, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import torch
import torch.nn.functional as F
from onnx import TensorProto
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")
CLASSES = 5
LOSSES = {"NegativeLogLikelihoodLoss": F.nll_loss, "SoftmaxCrossEntropyLoss": F.cross_entropy}


def builder(*pixels: int) -> Builder:
    target = (TensorProto.INT64, ["n", *pixels])
    return Builder(22, x=(FLOAT, ["n", CLASSES, *pixels]), target=target)


def drawn(*pixels: int) -> dict[str, np.ndarray]:
    classes = np.random.default_rng(4).integers(0, CLASSES, (3, *pixels))
    return {"x": normal(3, CLASSES, *pixels), "target": classes}


@pytest.mark.parametrize("op", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("pixels", [(), (4,), (2, 3)])
@pytest.mark.parametrize("weighed", [False, True])
def test_a_loss(op: str, reduction: str, pixels: tuple[int, ...], weighed: bool) -> None:
    given, weights = drawn(*pixels), np.abs(normal(CLASSES, seed=1))
    b = builder(*pixels)
    ignored = int(given["target"].reshape(-1)[0])
    out = b(op, "x", "target", *([weights] if weighed else []), reduction=reduction, ignore_index=ignored)
    (y,) = Engine(graph(b, (out, FLOAT, 1 + len(pixels) if reduction == "none" else 0))).run(given).outputs.values()
    x, target = (torch.from_numpy(given[name]) for name in ("x", "target"))
    expected = LOSSES[op](
        x, target, torch.from_numpy(weights) if weighed else None, ignore_index=ignored, reduction=reduction
    )
    assert y.shape == expected.shape
    assert np.allclose(y, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_logarithms_are_given_beside_the_loss() -> None:
    given, b = drawn(4), builder(4)
    loss, logarithms = b("SoftmaxCrossEntropyLoss", "x", "target", outputs=2)
    outputs = Engine(graph(b, (loss, FLOAT, 0), (logarithms, FLOAT, 3))).run(given).outputs
    assert np.allclose(outputs[logarithms], F.log_softmax(torch.from_numpy(given["x"]), 1).numpy(), atol=1e-6)


def test_a_class_that_there_is_not_is_an_error() -> None:
    given, b = drawn(), builder()
    given["target"][1] = CLASSES
    made = graph(b, (b("NegativeLogLikelihoodLoss", "x", "target"), FLOAT, 0))
    with pytest.raises(OnnxError, match=r"a class is out of range: scores of shape \[3, 5\] have 5"):
        Engine(made).run(given)
