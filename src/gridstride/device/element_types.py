"""What arrays hold: NumPy's dtypes, PyTorch's, and bfloat16, which NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as np

BFLOAT16 = "bfloat16"


def element_type(dtype: Any) -> tuple[np.dtype[Any], str]:
    """How NumPy holds elements of a dtype, and what kernels call them.

    "bfloat16" and torch.bfloat16 are bits in uint16; ml_dtypes.bfloat16, which NumPy takes for a dtype, is itself.
    TypeError for no dtype, ValueError for one that cannot go to a device.
    """
    name = str(dtype).removeprefix("torch.")
    of_torch = name != str(dtype)
    if name == BFLOAT16 and (of_torch or isinstance(dtype, str)):
        return np.dtype(np.uint16), BFLOAT16
    try:
        dtype_found = np.dtype(name if of_torch else dtype)
    except TypeError:
        raise _unknown(dtype) from None
    # ml_dtypes lends NumPy names of PyTorch's, once anything has imported it; what there is must not hang on that.
    if of_torch and dtype_found.isbuiltin != 1:
        raise _unknown(dtype)
    check_dtype(dtype_found)
    return dtype_found, dtype_found.name


def _unknown(dtype: object) -> TypeError:
    return TypeError(f'dtype {dtype!r} is none of those that NumPy has, nor "bfloat16": np.float32, say')


def check_dtype(dtype: np.dtype[Any]) -> None:
    """ValueError for elements that a kernel cannot read."""
    if dtype.hasobject or not dtype.isnative or dtype.kind in "SUMm":
        raise ValueError(f"dtype {dtype} cannot go to a device: it holds text, times, objects or a foreign byte order")


def from_bfloat16(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """bfloat16 bits as the float32 values that they are."""
    values: np.ndarray[Any, Any] = (bits.astype(np.uint32) << 16).view(np.float32)
    return values
