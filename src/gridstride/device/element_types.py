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
    if name != str(dtype):
        dtype = name
    if isinstance(dtype, str) and name == BFLOAT16:
        return np.dtype(np.uint16), BFLOAT16
    try:
        known = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype {dtype!r} is none of NumPy's or PyTorch's: np.float32, say, or \"bfloat16\"") from None
    check_dtype(known)
    return known, known.name


def check_dtype(dtype: np.dtype[Any]) -> None:
    """ValueError for elements that a kernel cannot read."""
    if dtype.hasobject or not dtype.isnative or dtype.kind in "SUMm":
        raise ValueError(f"dtype {dtype} cannot go to a device: it holds text, times, objects or a foreign byte order")


def from_bfloat16(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """bfloat16 bits as the float32 values that they are."""
    values: np.ndarray[Any, Any] = (bits.astype(np.uint32) << 16).view(np.float32)
    return values
