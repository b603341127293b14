"""PyTorch modules to ONNX files, with sizes that vary: `torch.onnx.export(dynamo=True)`."""

from __future__ import annotations

import inspect
import logging
import runpy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from gridstride.frameworks.onnx.model_file import first_sentence
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.packages import onnx_package, script_package, torch_package

OPSET = 20
"""Unless another one is asked for: the first one with GELU as an operator; attention is one from 23 on."""
OPSETS = range(18, 25)
"""PyTorch's exporter writes 18, and converts that to later ones."""
_EXTERNAL = 1 << 30
"""Bytes of weights from which they go to a file beside: a protobuf message ends at 2 GiB."""

DynamicAxes = Mapping[str, Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Example:
    """A module with inputs to trace it by. `dynamic`: names of sizes that vary, by parameter and axis."""

    module: Any
    inputs: tuple[Any, ...]
    dynamic: DynamicAxes
    most: Mapping[str, int] | None = None  # the largest value of a size that varies
    tokens: int | None = None  # integers among the inputs stay below it


@dataclass(frozen=True, slots=True)
class Exported:
    """A written file. `dynamic`: its inputs with their sizes."""

    path: Path
    opset: int
    inputs: dict[str, list[int | str]]
    nodes: int
    nbytes: int


def example_of(spec: str) -> Example:
    """What `module.py:function` returns: (module, inputs) or (module, inputs, {parameter: {axis: name}}).

    Without the third, axis 0 of each tensor is "batch", and axis 1 "length" where it holds integers or has three axes.
    """
    torch = torch_package()
    file, _, function = spec.rpartition(":")
    if not file and Path(spec).is_file():
        file, function = spec, ""
    if not Path(file).is_file():
        raise OnnxError(f"there is no file {file or spec}: name a model folder, or FILE.py:FUNCTION")
    try:
        names = runpy.run_path(file)
    except Exception as error:  # whatever a user's file raises
        raise OnnxError(f"{file} cannot be run: {type(error).__name__}: {first_sentence(error)}") from error
    callables = sorted(name for name, value in names.items() if inspect.isfunction(value))
    if not function:
        raise OnnxError(f"{file} names no function: {file}:{callables[0] if callables else 'FUNCTION'}")
    if not callable(names.get(function)):
        raise OnnxError(f"{file} has no function {function!r}: it has {', '.join(callables) or 'none'}")
    try:
        returned = names[function]()
    except Exception as error:
        raise OnnxError(f"{spec} raises {type(error).__name__}: {first_sentence(error)}") from error
    fits = isinstance(returned, tuple) and len(returned) in (2, 3) and isinstance(returned[0], torch.nn.Module)
    if not fits:
        kinds = ", ".join(type(item).__name__ for item in returned) if isinstance(returned, tuple) else ""
        shown = f"({kinds})" if kinds else type(returned).__name__
        raise OnnxError(f"{spec} must return (module, example inputs), not {shown}")
    module, inputs = returned[:2]
    arguments = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    dynamic = returned[2] if len(returned) == 3 else default_axes(module, arguments)
    names_of_forward = parameters_of(module)
    for name in dynamic:
        if name not in names_of_forward:
            raise OnnxError(f"{spec} names {name!r}, which forward has not: it has {', '.join(names_of_forward)}")
    return Example(module, arguments, dynamic)


def parameters_of(module: Any) -> list[str]:
    """Names of the parameters of a module's forward."""
    return list(inspect.signature(module.forward).parameters)


def default_axes(module: Any, inputs: Sequence[Any]) -> dict[str, dict[int, str]]:
    """A batch in front; a length behind it for tokens and for sequences of vectors."""
    dynamic = {}
    for name, value in zip(parameters_of(module), inputs, strict=False):
        if hasattr(value, "shape") and len(value.shape):
            sequence = len(value.shape) == 3 or (len(value.shape) == 2 and not value.is_floating_point())
            dynamic[name] = {0: "batch"} | ({1: "length"} if sequence else {})
    return dynamic


def export_module(example: Example, path: str | Path, *, opset: int = OPSET) -> Exported:
    """Write the file; OnnxError where the module cannot be traced or the place cannot be written."""
    torch, onnx = torch_package(), onnx_package()
    script_package()
    target = Path(path)
    if opset not in OPSETS:
        raise OnnxError(f"opset {opset} must be from {OPSETS[0]} to {OPSETS[-1]}")
    if target.suffix != ".onnx":
        raise OnnxError(f"{path} must end in .onnx")
    if not target.parent.is_dir():
        raise OnnxError(f"there is no folder {target.parent}")
    names = parameters_of(example.module)
    shapes = tuple(_axes(example.dynamic.get(name)) for name, _ in zip(names, example.inputs, strict=False))
    module = example.module.eval()
    try:
        with _silent(), torch.no_grad():
            program = torch.onnx.export(
                module, example.inputs, dynamo=True, opset_version=opset, dynamic_shapes=shapes, verbose=False,
                input_names=names[: len(example.inputs)],
            )  # fmt: skip
    except Exception as error:  # of many classes, none of them public
        raise OnnxError(f"PyTorch cannot export {type(module).__name__}: {_cause(error)}") from error
    weights = sum(p.numel() * p.element_size() for p in [*module.parameters(), *module.buffers()])
    try:
        program.save(target, external_data=weights > _EXTERNAL)
    except OSError as error:
        raise OnnxError(f"{path} cannot be written: {error.strerror}") from error
    model = onnx.load(target, load_external_data=False)
    written = next(entry.version for entry in model.opset_import if not entry.domain)
    if written != opset:
        raise OnnxError(f"PyTorch wrote opset {written}, not {opset}: an operator has no such version")
    inputs = {value.name: _sizes(value) for value in model.graph.input}
    data_file = target.with_name(target.name + ".data")
    nbytes = target.stat().st_size + (data_file.stat().st_size if weights > _EXTERNAL and data_file.is_file() else 0)
    return Exported(target, opset, inputs, len(model.graph.node), nbytes)


def _axes(names: Mapping[int, str] | None) -> dict[int, Any] | None:
    return dict(names) if names else None


def _sizes(value: Any) -> list[int | str]:
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims]


@contextmanager
def _silent() -> Iterator[None]:
    """Without what the exporter says on the way: of libraries that are not there, of passes that it makes."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _cause(error: BaseException) -> str:
    """What lies at the bottom of a chain of errors."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {first_sentence(error)}"
