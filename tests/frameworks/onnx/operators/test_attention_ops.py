"""Attention as ONNX's operator: what a query sees, beside the reference implementation of the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import onnx
from small_models import FLOAT, Builder, normal

from gridstride.frameworks.onnx import Engine, OnnxError
from gridstride.frameworks.onnx.graph import graph_of

pytestmark = pytest.mark.usefixtures("gpu")
Q, K, V = normal(2, 4, 3, 8), normal(2, 2, 6, 8, seed=1), normal(2, 2, 6, 5, seed=2)
LENGTHS = np.array([6, 2])
MASK = np.random.default_rng(3).random((3, 4)) < 0.7


def _both(mask: np.ndarray | None = None, lengths: np.ndarray | None = None, **attributes: Any) -> list[np.ndarray]:
    """The engine's result and the reference's."""
    opset = 25
    if opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} has no opset {opset}")
    b = Builder(opset, q=(FLOAT, list(Q.shape)), k=(FLOAT, list(K.shape)), v=(FLOAT, list(V.shape)))
    optional = ["" if mask is None else mask, "", "", "" if lengths is None else lengths]
    while optional and isinstance(optional[-1], str):
        optional.pop()
    model = b.model((b("Attention", "q", "k", "v", *optional, **attributes), FLOAT, 4))
    inputs = {"q": Q, "k": K, "v": V}
    (ours,) = Engine(graph_of(model, "attention.onnx")).run(inputs).outputs.values()
    return [ours, onnx.reference.ReferenceEvaluator(model).run(None, inputs)[0]]


@pytest.mark.parametrize(
    "how",
    [
        {"lengths": LENGTHS},
        {"lengths": LENGTHS, "is_causal": 1},  # of the second, query 0 stands before all keys
        {"is_causal": 1, "softcap": 0.5},
        {"left_window_size": 1, "right_window_size": 1},
        {"left_window_size": 2, "lengths": LENGTHS},
        {"mask": MASK},  # shorter than the keys: those behind it are not seen
        {"mask": np.where(MASK, np.float32(0), np.float32(-1)), "is_causal": 1},
    ],
    ids=lambda how: "-".join(how),
)
def test_what_a_query_sees(how: dict[str, Any]) -> None:
    ours, reference = _both(**how)
    np.testing.assert_allclose(ours, reference, atol=1e-5)


def test_a_query_of_nan_gives_nan() -> None:
    b = Builder(23, q=(FLOAT, [1, 1, 2, 8]))
    model = b.model((b("Attention", "q", normal(1, 1, 3, 8), normal(1, 1, 3, 8)), FLOAT, 4))
    q = normal(1, 1, 2, 8)
    q[0, 0, 1] = np.nan
    (y,) = Engine(graph_of(model, "attention.onnx")).run({"q": q}).outputs.values()
    assert np.isfinite(y[0, 0, 0]).all()
    assert np.isnan(y[0, 0, 1]).all()


def test_lengths_of_another_batch_are_refused() -> None:
    with pytest.raises(OnnxError, match=r"nonpad_kv_seqlen is int64 \[3\], not int64 \[2\]"):
        _both(lengths=np.array([1, 2, 3]))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("by_place", [False, True])
def test_rotary_positions(interleaved: int, by_place: bool) -> None:
    x = normal(2, 3, 4, 8)
    angles = normal(10, 3) if by_place else normal(2, 4, 3)
    places = [np.array([[9, 0, 3, 1], [2, 2, 5, 8]])] if by_place else []
    b = Builder(23, x=(FLOAT, list(x.shape)))
    turned = b(
        "RotaryEmbedding", "x", np.cos(angles), np.sin(angles), *places, interleaved=interleaved, rotary_embedding_dim=6
    )
    model = b.model((turned, FLOAT, 4))
    (y,) = Engine(graph_of(model, "rotary.onnx")).run({"x": x}).outputs.values()
    np.testing.assert_allclose(y, onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0], atol=1e-6)
