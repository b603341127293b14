"""Tensor maps of the virtual GPU: its own 128 bytes, which only its own tensor copies read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridstride.virtual.abi.tensor_map_layout import RANKS, TENSOR, TENSOR_MAGIC

SWIZZLES = {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}
"""By the bytes of a pattern's row: the bits of a shared-memory offset that are turned by those three places above."""


def encode(
    address: int, sizes: Sequence[int], *, strides: Sequence[int], box: Sequence[int], steps: Sequence[int],
    type_: int, swizzle: int, interleave: int, nan: bool, corners: tuple[Sequence[int], Sequence[int]] | None,
) -> bytes:  # fmt: skip
    """The map of a tensor; sizes, box and steps from the dimension that varies fastest, strides in bytes from the
    second on. `type_` is the number of the element's type; `corners`, for im2col, the lower and upper ones of the box
    of pixels; `box` then holds channels and pixels.
    """
    record = np.zeros(1, TENSOR.dtype())
    rank = len(sizes)
    assert rank <= RANKS
    record["magic"], record["rank"], record["address"] = TENSOR_MAGIC, rank, address
    record["size"], record["box"] = 1, 1
    record["size"][0, :rank], record["box"][0, : len(box)] = sizes, box
    record["stride"][0, : rank - 1] = strides
    record["step"][0, :rank] = [step - 1 for step in steps]
    record["element"], record["swizzle"], record["interleave"] = type_, SWIZZLES[swizzle], interleave
    record["nan"], record["im2col"] = nan, corners is not None
    for axis, (low, high) in enumerate(zip(*(corners or ((), ())), strict=True)):
        record["corner"][0, axis] = np.int32(high) << 16 | low & 0xFFFF
    return record.tobytes()
