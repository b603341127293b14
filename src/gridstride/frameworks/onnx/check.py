"""Is a file valid, and does ONNX Runtime compute with it what PyTorch computed: on three shapes, with the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.export import Example, parameters_of
from gridstride.frameworks.onnx.graph import Array, Port, graph_of
from gridstride.frameworks.onnx.input_values import random_inputs, token_limits
from gridstride.frameworks.onnx.model_file import MOST_BYTES, check_model, first_sentence, read_model
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.packages import runtime_package, torch_package

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
INT8_TOLERANCE = 2e-2
"""Of models with integers inside: a value halfway between two steps of 8 bits goes either way."""
"""Largest error by dtype, as a share of the largest value (of 1 where all are smaller)."""
SHAPES: tuple[Mapping[str, int], ...] = ({"": 9, "batch": 2}, {"": 4, "batch": 1}, {"": 16, "batch": 3})
"""Values of sizes that vary, by name; "" stands for all others."""


@dataclass(frozen=True, slots=True)
class ShapeCheck:
    """One shape that was tried. `error`: the largest difference, None where there was nothing to compare with."""

    sizes: dict[str, int]
    error: float | None
    share: float | None  # of the tolerance of its dtype: passes up to 1


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found out about a file."""

    path: Path
    opset: int
    operators: dict[str, int]
    inputs: dict[str, str]
    shapes: list[ShapeCheck] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every error is within its tolerance."""
        return all(shape.share is None or shape.share <= 1 for shape in self.shapes)

    @property
    def max_error(self) -> float | None:
        """The largest of all shapes."""
        errors = [shape.error for shape in self.shapes if shape.error is not None]
        return max(errors) if errors else None


def check_file(path: str | Path, example: Example | None = None, *, seed: int = 0) -> Checked:
    """The checker with strict shape inference, then ONNX Runtime on three shapes, beside PyTorch where there is one."""
    model = read_model(path)
    check_model(model, path)
    graph = graph_of(model, str(path))
    inputs = {port.name: str(port) for port in graph.inputs}
    checked = Checked(Path(path), graph.opset, graph.count(), inputs)
    session = session_of(path if model.ByteSize() >= MOST_BYTES else model, str(path))
    for sizes in shapes_to_try(graph.inputs, (example.most if example else None) or {}):
        limits = token_limits(graph) | ({"": example.tokens} if example and example.tokens else {})
        values = random_inputs(graph.inputs, sizes, seed, limits)
        outputs = run_session(session, values)
        expected = None if example is None else reference(example, values)
        checked.shapes.append(_compared(sizes, outputs, expected))
    return checked


def shapes_to_try(ports: Sequence[Port], most: Mapping[str, int]) -> list[dict[str, int]]:
    """Three sets of sizes that vary; one, where none does."""
    names = dict.fromkeys(size for port in ports for size in port.shape or () if isinstance(size, str))
    shapes = [{name: min(shape.get(name, shape[""]), most.get(name, 1 << 31)) for name in names} for shape in SHAPES]
    return shapes if names else shapes[:1]


def session_of(model: Any, path: str) -> Any:
    """ONNX Runtime's session for a model or the path of one, on the processor, saying nothing."""
    runtime = runtime_package()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")  # without VNNI, int8 sums in 16 bits saturate
    source = str(model) if isinstance(model, str | Path) else model.SerializeToString()
    try:
        return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of classes of its own, none public
        raise OnnxError(f"ONNX Runtime cannot load {path}: {first_sentence(error)}") from error


def run_session(session: Any, values: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name."""
    names = [output.name for output in session.get_outputs()]
    try:
        return dict(zip(names, session.run(names, dict(values)), strict=True))
    except Exception as error:
        raise OnnxError(f"ONNX Runtime cannot run the model: {first_sentence(error)}") from error


def reference(example: Example, values: Mapping[str, Array]) -> list[Array]:
    """What PyTorch computes of the same inputs, which are matched by name, or by place where the names are others."""
    torch = torch_package()
    names = parameters_of(example.module)
    ordered = [values[name] for name in names if name in values]
    if len(ordered) != len(values):
        ordered = list(values.values())
    try:
        with torch.no_grad():
            result = example.module.eval()(*(torch.from_numpy(value) for value in ordered))
    except Exception as error:
        raise OnnxError(f"PyTorch cannot run the model on these inputs: {first_sentence(error)}") from error
    return [tensor.detach().numpy() for tensor in _flat(result)]


def _flat(result: Any) -> list[Any]:
    """The tensors that a module gives, in the order in which the exporter makes outputs of them."""
    torch = torch_package()
    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(result) if leaf is not None]
    for leaf in tensors:
        if not isinstance(leaf, torch.Tensor):
            raise OnnxError(
                f"the module gives a {type(leaf).__name__} beside its tensors, which has no output to compare"
            )
    return tensors


def _compared(sizes: dict[str, int], outputs: Mapping[str, Array], expected: Sequence[Array] | None) -> ShapeCheck:
    if expected is None:
        return ShapeCheck(sizes, None, None)
    if len(expected) != len(outputs):
        raise OnnxError(f"the file has {len(outputs)} outputs, PyTorch's module gives {len(expected)}")
    errors, shares = [], []
    for (name, value), reference in zip(outputs.items(), expected, strict=True):
        if value.shape != reference.shape:
            raise OnnxError(
                f"output {name!r} has shape {list(value.shape)} in the file and {list(reference.shape)} in PyTorch"
            )
        error, share = difference(value, reference)
        errors.append(error)
        shares.append(share)
    return ShapeCheck(sizes, max(errors), max(shares))


def difference(value: Array, reference: Array, *, int8: bool = False) -> tuple[float, float]:
    """The largest difference, and what share of the tolerance it is; NaN and infinities must be at the same places.

    `int8`: the model computes in integers.
    """
    if not value.size:
        return 0.0, 0.0
    a, b = value.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf"), float("inf")
    error = float(np.abs(a - b)[finite].max(initial=0.0))
    if value.dtype.kind in "iub":
        return error, 0.0 if error == 0 else float("inf")
    scale = max(float(np.abs(b[finite]).max(initial=0.0)), 1.0)
    tolerance = INT8_TOLERANCE if int8 else TOLERANCES.get(value.dtype.name, TOLERANCES["float32"])
    return error, error / scale / tolerance
