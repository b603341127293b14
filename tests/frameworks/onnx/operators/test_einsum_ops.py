"""Einstein's sums, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")


def summed(equation: str, *arrays: np.ndarray, rank: int) -> np.ndarray:
    b = Builder(20, **{f"x{n}": (FLOAT, [f"{n}{axis}" for axis in "abcd"[: x.ndim]]) for n, x in enumerate(arrays)})
    made = graph(b, (b("Einsum", *(f"x{n}" for n in range(len(arrays))), equation=equation), FLOAT, rank))
    (y,) = Engine(made).run({f"x{n}": x for n, x in enumerate(arrays)}).outputs.values()
    return np.asarray(y)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("ij->ji", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("i,j->ij", [(3,), (4,)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (1, 4, 5)]),
        ("...i->...", [(2, 3, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("bij, bjk", [(2, 3, 4), (2, 4, 5)]),
    ],
)
def test_an_equation_is_numpy_s(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [normal(*shape, seed=n) for n, shape in enumerate(shapes)]
    expected = np.einsum(equation, *arrays)
    y = summed(equation, *arrays, rank=expected.ndim)
    assert y.shape == expected.shape
    assert np.allclose(y, expected, atol=1e-5)


def test_sizes_of_one_label_that_differ_are_refused() -> None:
    with pytest.raises(OnnxError, match="axes of the label j have sizes 3 and 4"):
        summed("ij,j->i", normal(2, 3), normal(4), rank=1)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij->i", "ij,k->iz"])
def test_an_equation_of_other_inputs_is_refused(equation: str) -> None:
    with pytest.raises(OnnxError):
        summed(equation, normal(2, 3), normal(4), rank=2)
