"""Operators by family; importing this fills the table of registry.py."""

from __future__ import annotations

from gridstride.frameworks.onnx.expressions import ELEMENTWISE_OPS
from gridstride.frameworks.onnx.graph import ELEMENTWISE
from gridstride.frameworks.onnx.operators import (
    attention_ops,
    convolution_ops,
    einsum_ops,
    gather_ops,
    int8_ops,
    loss_ops,
    movement_ops,
    norm_ops,
    product_ops,
    recurrent_ops,
    reduction_ops,
    resize_ops,
    scatter_ops,
    transposed_ops,
)
from gridstride.frameworks.onnx.registry import FUSED, ON_HOST, OPERATORS, PLUGINS

__all__ = [
    "attention_ops", "convolution_ops", "einsum_ops", "gather_ops", "int8_ops", "loss_ops", "movement_ops", "norm_ops",
    "product_ops", "recurrent_ops", "reduction_ops", "resize_ops", "scatter_ops", "supported", "transposed_ops",
]  # fmt: skip


def supported() -> list[str]:
    """Operators that the engine runs, plugins among them."""
    names = {*OPERATORS, *PLUGINS, *ELEMENTWISE_OPS, *ON_HOST} - {ELEMENTWISE}
    return sorted(name for name in names if not name.startswith(FUSED))  # those stand in no file
