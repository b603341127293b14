"""What arrays hold: NumPy's dtypes, PyTorch's words, bfloat16."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gridstride.device.element_types import element_type, from_bfloat16


class OfTorch:
    """What str() of a torch dtype gives, without torch."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return f"torch.{self._name}"


@pytest.mark.parametrize(
    ("dtype", "held", "name"),
    [
        (np.float32, "float32", "float32"), ("int8", "int8", "int8"), (OfTorch("float16"), "float16", "float16"),
        ("bfloat16", "uint16", "bfloat16"), (OfTorch("bfloat16"), "uint16", "bfloat16"),
        (ml_dtypes.bfloat16, "bfloat16", "bfloat16"),
    ],
)  # fmt: skip
def test_how_it_is_held_and_called(dtype: object, held: str, name: str) -> None:
    assert element_type(dtype) == (np.dtype(held), name)


@pytest.mark.parametrize("dtype", ["no type", OfTorch("float8_e4m3fn")])
def test_what_is_no_dtype_is_refused_with_the_way_out(dtype: object) -> None:
    with pytest.raises(TypeError, match="none of those that NumPy has"):
        element_type(dtype)


@pytest.mark.parametrize("dtype", ["O", "U8", "M8[s]", ">f4"])
def test_what_a_kernel_cannot_read_is_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match="cannot go to a device"):
        element_type(dtype)


def test_bits_of_bfloat16_are_the_numbers_that_ml_dtypes_has() -> None:
    numbers = np.array([0, -1.5, 3e38, np.inf, 1e-40], ml_dtypes.bfloat16)
    assert np.array_equal(from_bfloat16(numbers.view(np.uint16)), numbers.astype(np.float32))
