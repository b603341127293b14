"""Element types that weights are kept in and no kernel computes in, of 2 to 8 bits: on the host they become others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.graph import ELEMENTWISE, Node
from gridstride.frameworks.onnx.packages import onnx_package
from gridstride.frameworks.onnx.tensors import Value

_NARROW = frozenset(
    (
        "int2 uint2 int4 uint4 float4_e2m1fn float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
    ).split()
)
_OPERATORS = frozenset({"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "Identity", ELEMENTWISE})
"""Those that take narrow values or give them; a chain begins with a Cast from them."""


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """By ml_dtypes' names."""
    return dtype.name in _NARROW


def gives_narrow(node: Node) -> bool:
    """Whether an attribute asks for a narrow result."""
    to = node.attributes.get("to") if node.op == "Cast" else node.attributes.get("output_dtype")
    return bool(to) and is_narrow(np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(to)))


def concerns_narrow(node: Node, values: Sequence[Value | None]) -> bool:
    """Whether the host computes a node, as narrow values go in or come out."""
    if node.domain or node.op not in _OPERATORS:
        return False
    return gives_narrow(node) or any(value is not None and is_narrow(value.dtype) for value in values)
