"""ONNX files: read with what they refer to, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.packages import onnx_package

MOST_BYTES = 2 << 30
"""Of a protobuf message; larger weights lie in files beside the model."""


def read_model(path: str | Path) -> Any:
    """The `onnx.ModelProto` of a file, its external weights loaded; OnnxError for what is none."""
    onnx = onnx_package()
    file = Path(path)
    _check_file(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise OnnxError(f"{path} cannot be read: {error.strerror}") from error
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf's class of errors differs by its implementation
        raise OnnxError(f"{path} is no ONNX model, or it is cut short: its protobuf cannot be decoded") from error
    if not model.ir_version or not model.HasField("graph"):
        raise OnnxError(f"{path} is no ONNX model: it has no {'graph' if model.ir_version else 'ir_version'}")
    _check_external_files(model, file)
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(file.parent))
    except Exception as error:
        raise OnnxError(f"{path}: its external weights cannot be read: {first_sentence(error)}") from error
    return model


def check_model(model: Any, path: str | Path, *, full: bool = True) -> None:
    """onnx's own checker, by `full` with shapes inferred strictly; OnnxError with what it says."""
    onnx = onnx_package()
    large = model.ByteSize() >= MOST_BYTES
    try:
        onnx.checker.check_model(str(path) if large else model, full_check=full)
    except Exception as error:  # ValidationError, InferenceError, and what C++ throws besides
        raise OnnxError(f"{path} is no valid ONNX model: {first_sentence(error)}") from error


def first_sentence(error: BaseException) -> str:
    """The first line of a message that may be long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else type(error).__name__


def _check_file(file: Path) -> None:
    if not file.exists():
        raise OnnxError(f"there is no file {file}: `gridstride onnx export` writes one")
    if not file.is_file():
        raise OnnxError(f"{file} is no file: name the .onnx file itself")
    if not file.stat().st_size:
        raise OnnxError(f"{file} is empty")


def _check_external_files(model: Any, file: Path) -> None:
    """The files that weights are in are there and long enough."""
    for tensor in _stored(model.graph):
        fields = {entry.key: entry.value for entry in tensor.external_data}
        location = fields.get("location", "")
        data = file.parent / location
        if not location or not data.is_file():
            raise OnnxError(f"{file}: the weights of {tensor.name!r} are in {data}, which is not there: copy it beside")
        end = sum(_number(fields.get(name, "0"), name, tensor.name, file) for name in ("offset", "length"))
        if data.stat().st_size < end:
            size = data.stat().st_size
            raise OnnxError(f"{data} is cut short: {tensor.name!r} ends at byte {end}, the file has {size}")


def _number(text: str, name: str, tensor: str, file: Path) -> int:
    """A place in a file of weights, which stands as text."""
    try:
        return int(text)
    except ValueError:
        raise OnnxError(f"{file}: the {name} of the weights of {tensor!r} is {text!r}, which is no number") from None


def _stored(graph: Any) -> Iterator[Any]:
    onnx = onnx_package()
    return (t for t in graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL)
