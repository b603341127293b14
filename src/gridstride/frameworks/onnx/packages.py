"""The packages of the extra `onnx`, imported when first needed."""

from __future__ import annotations

from types import ModuleType

from gridstride.compiler.frontends import require
from gridstride.frameworks.onnx.onnx_errors import OnnxError

_INSTALL = "'gridstride[onnx]'"


def onnx_package() -> ModuleType:
    """`onnx`, which reads and checks files; OnnxError with the command that installs it."""
    return _required("onnx", "onnx", (1, 20), "ONNX")


def runtime_package() -> ModuleType:
    """`onnxruntime`, which ours is compared with and which quantizes."""
    return _required("onnxruntime", "onnxruntime", (1, 24), "ONNX Runtime")


def script_package() -> ModuleType:
    """`onnxscript`, which PyTorch's exporter is written in."""
    return _required("onnxscript", "onnxscript", (0, 7), "ONNX Script, which PyTorch's exporter needs,")


def torch_package() -> ModuleType:
    """`torch`, whose modules are exported."""
    try:
        return require("torch", distribution="torch", at_least=(2, 11), install="'gridstride[torch]'", what="PyTorch")
    except RuntimeError as error:
        raise OnnxError(str(error)) from error


def _required(module: str, distribution: str, at_least: tuple[int, ...], what: str) -> ModuleType:
    try:
        return require(module, distribution=distribution, at_least=at_least, install=_INSTALL, what=what)
    except RuntimeError as error:
        raise OnnxError(str(error)) from error
