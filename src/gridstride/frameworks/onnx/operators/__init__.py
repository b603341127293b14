"""Operators by family; importing this fills the table of registry.py."""

from __future__ import annotations

from gridstride.frameworks.onnx.operators import (
    attention_ops,
    convolution_ops,
    gather_ops,
    int8_ops,
    movement_ops,
    norm_ops,
    product_ops,
    reduction_ops,
)

__all__ = [
    "attention_ops", "convolution_ops", "gather_ops", "int8_ops", "movement_ops", "norm_ops", "product_ops",
    "reduction_ops",
]  # fmt: skip
