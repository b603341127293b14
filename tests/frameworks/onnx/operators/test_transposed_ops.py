"""Transposed convolutions, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import torch
import torch.nn.functional as F
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize(
    ("stride", "pad", "more", "step", "groups"), [(1, 0, 0, 1, 1), (2, 1, 1, 1, 2), (3, 2, 0, 2, 1), (2, 0, 1, 3, 4)]
)
def test_two_dimensions(stride: int, pad: int, more: int, step: int, groups: int) -> None:
    x, w, bias = normal(2, 4, 5, 6), normal(4, 3, 3, 2, seed=1), normal(3 * groups, seed=2)
    b = Builder(20, x=(FLOAT, ["n", 4, "h", "w"]))
    out = b(
        "ConvTranspose", "x", w, bias, strides=[stride] * 2, pads=[pad] * 4, output_padding=[more] * 2,
        dilations=[step] * 2, group=groups,
    )  # fmt: skip
    (y,) = Engine(graph(b, (out, FLOAT, 4))).run({"x": x}).outputs.values()
    weights = [torch.from_numpy(each) for each in (x, w, bias)]
    expected = F.conv_transpose2d(*weights, stride, pad, more, groups, step).numpy()
    assert y.shape == expected.shape
    assert np.allclose(y, expected, atol=1e-5)


def test_one_dimension() -> None:
    x, w = normal(2, 3, 7), normal(3, 4, 3, seed=1)
    b = Builder(20, x=(FLOAT, ["n", 3, "length"]))
    made = graph(b, (b("ConvTranspose", "x", w, strides=[2]), FLOAT, 3))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    assert np.allclose(y, F.conv_transpose1d(torch.from_numpy(x), torch.from_numpy(w), stride=2).numpy(), atol=1e-5)


def test_three_dimensions() -> None:
    x, w = normal(2, 3, 3, 4, 5), normal(3, 4, 2, 3, 3, seed=1)
    b = Builder(20, x=(FLOAT, ["n", 3, "d", "h", "w"]))
    made = graph(b, (b("ConvTranspose", "x", w, strides=[1, 2, 3], pads=[0, 1, 2] * 2), FLOAT, 5))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    expected = F.conv_transpose3d(torch.from_numpy(x), torch.from_numpy(w), None, (1, 2, 3), (0, 1, 2)).numpy()
    assert np.allclose(y, expected, atol=1e-5)


def test_channels_that_do_not_meet_are_refused() -> None:
    b = Builder(20, x=(FLOAT, ["n", "c", "length"]))
    made = graph(b, (b("ConvTranspose", "x", normal(3, 4, 3)), FLOAT, 3))
    with pytest.raises(OnnxError, match=r"x has 2 channels, w \[3, 4, 3\] in 1 groups takes 3"):
        Engine(made).run({"x": normal(1, 2, 5)})
