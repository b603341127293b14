"""Convolution and pooling in one to three dimensions, against PyTorch's."""

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
IMAGES = [(7,), (7, 6), (5, 7, 6)]
CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d]
SIZES = ["a", "b", "c"]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("stride", "pad", "step", "groups"), [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 4)])
def test_a_convolution(axes: int, stride: int, pad: int, step: int, groups: int) -> None:
    x, w, bias = normal(2, 4, *IMAGES[axes - 1]), normal(8, 4 // groups, *[3] * axes, seed=1), normal(8, seed=2)
    b = Builder(20, x=(FLOAT, ["n", 4, *SIZES[:axes]]))
    windows = {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "dilations": [step] * axes}
    made = graph(b, (b("Conv", "x", w, bias, group=groups, **windows), FLOAT, 2 + axes))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    tensors = [torch.from_numpy(each) for each in (x, w, bias)]
    expected = CONVOLUTIONS[axes - 1](*tensors, stride, pad, step, groups).numpy()
    assert y.shape == expected.shape
    assert np.allclose(y, expected, atol=1e-5)


def test_axes_of_one_window_differ() -> None:
    x, w = normal(1, 2, 4, 6, 8), normal(3, 2, 1, 2, 3, seed=1)
    b = Builder(20, x=(FLOAT, [1, 2, 4, 6, 8]))
    made = graph(b, (b("Conv", "x", w, strides=[1, 2, 3], pads=[0, 1, 2, 0, 1, 2], dilations=[1, 2, 1]), FLOAT, 5))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    expected = F.conv3d(torch.from_numpy(x), torch.from_numpy(w), None, (1, 2, 3), (0, 1, 2), (1, 2, 1)).numpy()
    assert np.allclose(y, expected, atol=1e-5)


def test_sums_of_doubles_are_doubles() -> None:
    """In single precision 1 would be lost beside 2^30."""
    x, w = np.full((1, 1, 3), 2.0**30), np.ones((1, 1, 3))
    x[0, 0, 1] = 1
    b = Builder(20, x=(TensorProto.DOUBLE, [1, 1, 3]))
    (y,) = Engine(graph(b, (b("Conv", "x", w), TensorProto.DOUBLE, 3))).run({"x": x}).outputs.values()
    assert y.tolist() == [[[2.0**31 + 1]]]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling(axes: int, op: str) -> None:
    x = normal(2, 3, *IMAGES[axes - 1])
    b = Builder(20, x=(FLOAT, ["n", 3, *SIZES[:axes]]))
    made = graph(b, (b(op, "x", kernel_shape=[3] * axes, strides=[2] * axes, pads=[1] * 2 * axes), FLOAT, 2 + axes))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    given = torch.from_numpy(x)
    if op == "MaxPool":
        expected = [F.max_pool1d, F.max_pool2d, F.max_pool3d][axes - 1](given, 3, 2, 1)
    else:
        pools = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]
        expected = pools[axes - 1](given, 3, 2, 1, count_include_pad=False)  # type: ignore[operator]
    assert np.allclose(y, expected.numpy(), atol=1e-6)


def test_where_the_largest_lies_is_given_too() -> None:
    """As a place in all of x, where PyTorch counts in each channel."""
    x = normal(2, 3, 4, 6, 4)
    b = Builder(20, x=(FLOAT, list(x.shape)))
    y, places = b("MaxPool", "x", outputs=2, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    outputs = Engine(graph(b, (y, FLOAT, 5), (places, TensorProto.INT64, 5))).run({"x": x}).outputs
    assert (x.reshape(-1)[outputs[places]] == outputs[y]).all()
    _, expected = F.max_pool3d(torch.from_numpy(x), 2, 2, return_indices=True)
    assert (outputs[places].reshape(6, -1) % (4 * 6 * 4) == expected.numpy().reshape(6, -1)).all()


def test_integers_of_eight_bits_are_pooled() -> None:
    x = np.array([[[200, 3, 7, 255]]], np.uint8)
    b = Builder(20, x=(TensorProto.UINT8, [1, 1, 4]))
    made = graph(b, (b("MaxPool", "x", kernel_shape=[2], strides=[2]), TensorProto.UINT8, 3))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    assert y.dtype == np.uint8
    assert y.tolist() == [[[200, 255]]]


def test_more_dimensions_are_refused() -> None:
    b = Builder(20, x=(FLOAT, [1, 1, 2, 2, 2, 2]))
    made = graph(b, (b("MaxPool", "x", kernel_shape=[1] * 4), FLOAT, 6))
    with pytest.raises(OnnxError, match="x has 6 axes: one, two and three dimensions are supported"):
        Engine(made).run({"x": normal(1, 1, 2, 2, 2, 2)})
