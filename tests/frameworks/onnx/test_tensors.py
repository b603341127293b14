"""Strided views: what NumPy says of the same shapes and strides."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.frameworks.onnx.tensors import Tensor, collapsed, of_array

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def tensor(shape: list[int]) -> Tensor:
    with gs.use("virtual"):
        return of_array(gs.empty(prod(shape), "float32"), shape)


def places(t: Tensor) -> np.ndarray:
    """Of each element where it lies."""
    grid = np.indices(t.shape)
    return t.offset + sum((grid[axis] * t.strides[axis] for axis in range(len(t.shape))), np.zeros(t.shape, int))


@given(SHAPES, st.randoms(use_true_random=False))
def test_a_view_of_another_shape_has_the_elements_in_their_order(shape: list[int], random: object) -> None:
    order = list(range(len(shape)))
    random.shuffle(order)  # type: ignore[attr-defined]
    t = tensor(shape).permuted(order)
    for wanted in ([prod(shape)], [1, *t.shape], [*t.shape, 1], [n for n in t.shape if n != 1]):
        view = t.viewed(wanted)
        if view is not None:
            assert (places(view).ravel() == places(t).ravel()).all()
        elif len(wanted) > 1:
            pytest.fail(f"axes of size 1 alone need no copy: {t.shape} to {wanted}")


@given(SHAPES, st.randoms(use_true_random=False))
def test_joined_axes_hold_the_same_elements(shape: list[int], random: object) -> None:
    order = list(range(len(shape)))
    random.shuffle(order)  # type: ignore[attr-defined]
    t = tensor(shape).permuted(order)
    sizes, (strides,) = collapsed(t.shape, t.strides)
    assert len(sizes) <= len(shape)
    assert (places(t.view(sizes, strides)).ravel() == places(t).ravel()).all()


def test_slices_steps_and_broadcasts() -> None:
    t = tensor([3, 4])
    assert places(t.sliced(1, 3, 4, -1)).tolist() == [[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8]]
    assert places(t.sliced(0, 1, 1).expanded((2, 2, 4)))[1, 1].tolist() == [4, 5, 6, 7]
    assert not t.swapped(0, 1).contiguous
    assert t.swapped(0, 1).viewed((12,)) is None
