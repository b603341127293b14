"""Tensor maps of the virtual GPU: its own 128 bytes, which only its own tensor copies read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridstride.virtual.machine.layout import RANKS, TENSOR, TENSOR_MAGIC

SWIZZLES = {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}
"""By the bytes of a pattern's row: the bits of a shared-memory offset that are turned by those three places above."""


def encode(
    address: int, sizes: Sequence[int], *, strides: Sequence[int], box: Sequence[int], element: int, swizzle: int,
    fill: int,
) -> bytes:  # fmt: skip
    """The map of a tensor; sizes and box from the dimension that varies fastest, strides in bytes from the second on.

    `fill` is the element that stands for what lies outside, as its bits.
    """
    record = np.zeros(1, TENSOR.dtype())
    rank = len(sizes)
    record["magic"], record["rank"], record["address"] = TENSOR_MAGIC, rank, address
    record["size"], record["box"] = 1, 1
    record["size"][0, :rank], record["box"][0, :rank] = sizes, box
    record["stride"][0, : rank - 1] = strides
    record["element"], record["swizzle"], record["fill"] = element, SWIZZLES[swizzle], fill
    assert rank <= RANKS
    return record.tobytes()
