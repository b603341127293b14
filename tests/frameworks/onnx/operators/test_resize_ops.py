"""Images in another size, against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import torch
import torch.nn.functional as F
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError
from gridstride.frameworks.onnx.operators.resize_ops import ResizedAxis, ResizeMode, table

pytestmark = pytest.mark.usefixtures("gpu")
AT_CORNERS = {"coordinate_transformation_mode": "align_corners"}
FROM_CORNERS = {"coordinate_transformation_mode": "asymmetric"}


def resized(x: np.ndarray, sizes: list[int], **how: object) -> np.ndarray:
    b = Builder(20, x=(FLOAT, list(x.shape)))
    made = graph(b, (b("Resize", "x", "", "", np.array([*x.shape[:2], *sizes]), **how), FLOAT, 4))
    (y,) = Engine(made).run({"x": x}).outputs.values()
    return np.asarray(y)


@pytest.mark.parametrize("sizes", [[7, 12], [3, 4], [5, 9]])
@pytest.mark.parametrize(
    ("how", "theirs"),
    [
        ({"mode": "linear"}, {"mode": "bilinear"}),
        ({"mode": "linear", **AT_CORNERS}, {"mode": "bilinear", "align_corners": True}),
        ({"mode": "cubic"}, {"mode": "bicubic"}),
        ({"mode": "nearest", **FROM_CORNERS, "nearest_mode": "floor"}, {"mode": "nearest"}),
        ({"mode": "nearest", "nearest_mode": "round_prefer_ceil"}, {"mode": "nearest-exact"}),
    ],
)  # fmt: skip
def test_a_mode_is_pytorch_s(sizes: list[int], how: dict[str, object], theirs: dict[str, object]) -> None:
    x = normal(2, 3, 5, 6)
    expected = F.interpolate(torch.from_numpy(x), sizes, **theirs).numpy()  # type: ignore[arg-type]
    assert np.allclose(resized(x, sizes, **how), expected, atol=1e-5)


def test_antialiasing_takes_all_that_a_pixel_covers() -> None:
    x = normal(1, 2, 12, 16)
    expected = F.interpolate(torch.from_numpy(x), [4, 5], mode="bilinear", antialias=True).numpy()
    assert np.allclose(resized(x, [4, 5], mode="linear", antialias=1, exclude_outside=1), expected, atol=1e-5)


def test_weights_of_every_mode_sum_to_one() -> None:
    for mode in ("linear", "cubic"):
        for outside in (False, True):
            _, weights, _ = table(ResizedAxis(5, 12, 2.4, (0, 1)), ResizeMode(mode, exclude_outside=outside))
            assert np.allclose(weights.sum(1), 1)


def test_a_mode_that_is_not_known_is_named() -> None:
    with pytest.raises(OnnxError, match="mode 'lanczos' is not known: nearest, linear and cubic are"):
        resized(normal(1, 1, 4, 4), [2, 2], mode="lanczos")
