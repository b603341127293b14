"""Elements put to places, joined there or not; the first of each row in order."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

from small_models import FLOAT, LONG, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, OnnxError

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_an_element_goes_to_its_index_along_the_axis(axis: int) -> None:
    b = Builder(20, x=(FLOAT, [4, 5, 3]), i=(LONG, [2, 3, 2]))
    made = graph(b, (b("ScatterElements", "x", "i", normal(2, 3, 2, seed=1), axis=axis), FLOAT, 3))
    places = np.argsort(normal(2, 3, 2, seed=2), axis=axis)
    (y,) = Engine(made).run({"x": normal(4, 5, 3), "i": places - [4, 5, 3][axis]}).outputs.values()
    expected = normal(4, 5, 3)
    for at in np.ndindex(2, 3, 2):
        to = list(at)
        to[axis] = places[at]
        expected[tuple(to)] = normal(2, 3, 2, seed=1)[at]
    assert np.array_equal(y, expected)


@pytest.mark.parametrize(
    ("how", "join"), [("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)]
)
def test_updates_of_one_place_are_joined(how: str, join: np.ufunc) -> None:
    b = Builder(20, x=(FLOAT, [5, 3]), i=(LONG, [6, 1]))
    made = graph(b, (b("ScatterND", "x", "i", normal(6, 3, seed=1), reduction=how), FLOAT, 2))
    places = np.array([0, 1, 0, 4, 0, 1])
    (y,) = Engine(made).run({"x": normal(5, 3), "i": places[:, None]}).outputs.values()
    expected = normal(5, 3)
    join.at(expected, places, normal(6, 3, seed=1))
    assert np.allclose(y, expected, atol=1e-6)


def test_the_data_stay_as_they_are() -> None:
    b = Builder(20, x=(FLOAT, [4]), i=(LONG, [1, 1]))
    scattered = b("ScatterND", "x", "i", np.array([9], np.float32))
    made = graph(b, (b("Add", scattered, "x"), FLOAT, 1))
    (y,) = Engine(made).run({"x": np.ones(4, np.float32), "i": np.array([[2]])}).outputs.values()
    assert y.tolist() == [2, 2, 10, 2]


def test_an_index_out_of_range_is_refused() -> None:
    b = Builder(20, x=(FLOAT, [4]), i=(LONG, [1, 1]))
    made = graph(b, (b("ScatterND", "x", "i", np.array([9], np.float32)), FLOAT, 1))
    with pytest.raises(OnnxError, match=r"an index is out of range, of data of shape \[4\]"):
        Engine(made).run({"x": np.ones(4, np.float32), "i": np.array([[4]])})


@pytest.mark.parametrize(("axis", "largest"), [(1, 1), (0, 0)])
def test_the_first_of_each_row_are_in_order_and_the_lower_place_of_equal_ones_is_first(axis: int, largest: int) -> None:
    b = Builder(20, x=(FLOAT, [6, 9]))
    values, places = b("TopK", "x", np.array([4]), axis=axis, largest=largest, outputs=2)
    made = graph(b, (values, FLOAT, 2), (places, LONG, 2))
    x = np.round(normal(6, 9))
    result = Engine(made).run({"x": x}).outputs
    order = np.argsort(-x if largest else x, axis=axis, kind="stable").take(range(4), axis)
    assert np.array_equal(result[places], order)
    assert np.array_equal(result[values], np.take_along_axis(x, order, axis))


def test_more_than_there_are_is_refused() -> None:
    b = Builder(20, x=(FLOAT, [2, 3]), k=(LONG, [1]))
    values, _ = b("TopK", "x", "k", outputs=2)
    with pytest.raises(OnnxError, match="k is 4, and axis 1 has 3 elements"):
        Engine(graph(b, (values, FLOAT, 2))).run({"x": normal(2, 3), "k": np.array([4])})
