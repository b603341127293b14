"""Tensor maps of the virtual GPU: its own 128 bytes, which only its own tensor copies read."""

from __future__ import annotations

import numpy as np

from gridstride.protocol import TensorMapLayout
from gridstride.virtual.abi.tensor_map_layout import RANKS, TENSOR, TENSOR_MAGIC

SWIZZLES = {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}
"""By the bytes of a pattern's row: the bits of a shared-memory offset that are turned by those three places above."""


def encode(address: int, layout: TensorMapLayout, element: int) -> bytes:
    """The map of a tensor; `element` is the number of its elements' type."""
    record = np.zeros(1, TENSOR.dtype())
    rank = len(layout.sizes)
    assert rank <= RANKS
    record["magic"], record["rank"], record["address"] = TENSOR_MAGIC, rank, address
    record["size"], record["box"] = 1, 1
    record["size"][0, :rank], record["box"][0, : len(layout.box)] = layout.sizes, layout.box
    record["stride"][0, : rank - 1] = layout.strides
    record["step"][0, :rank] = [step - 1 for step in layout.steps]
    record["element"], record["swizzle"], record["interleave"] = element, SWIZZLES[layout.swizzle], layout.interleave
    record["nan"], record["im2col"] = layout.nan, layout.corners is not None
    for axis, (low, high) in enumerate(zip(*(layout.corners or ((), ())), strict=True)):
        record["corner"][0, axis] = np.int32(high) << 16 | low & 0xFFFF
    return record.tobytes()
