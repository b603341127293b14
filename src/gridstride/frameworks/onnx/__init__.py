"""ONNX models: exported, checked, quantized, and run by a graph engine of our own on our kernels.

    from gridstride.frameworks.onnx import Engine, plugin
    outputs = Engine("model.onnx").run({"x": x}).outputs

Names are imported when first used: `onnx` and the rest of the extra `gridstride[onnx]` need not be there.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridstride.frameworks.onnx.check import check_file as check_file
    from gridstride.frameworks.onnx.engine import Engine as Engine
    from gridstride.frameworks.onnx.export import export_module as export_module
    from gridstride.frameworks.onnx.onnx_errors import OnnxError as OnnxError
    from gridstride.frameworks.onnx.onnx_errors import UnsupportedOperator as UnsupportedOperator
    from gridstride.frameworks.onnx.quantize import quantize_file as quantize_file
    from gridstride.frameworks.onnx.registry import plugin as plugin

_HOMES = {
    "Engine": "engine", "OnnxError": "onnx_errors", "UnsupportedOperator": "onnx_errors", "check_file": "check",
    "export_module": "export", "plugin": "registry", "quantize_file": "quantize",
}  # fmt: skip

__all__ = [
    "Engine", "OnnxError", "UnsupportedOperator", "check_file", "export_module", "plugin", "quantize_file",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"gridstride.frameworks.onnx has no {name!r}; it has {', '.join(__all__)}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
