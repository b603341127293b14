"""Kernels generated for elementwise nodes and chains of them: any strides, any broadcast, one pass over the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.expressions import (
    C_TYPES,
    as_stored,
    computed_type,
    expression,
    literal,
    result_dtype,
)
from gridstride.frameworks.onnx.generated_kernel import Operand, generated_kernel
from gridstride.frameworks.onnx.graph import ELEMENTWISE, Array, Node
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.tensors import Tensor, Value


def run_node(run: Launcher, node: Node, values: Sequence[Value | None], constants: Mapping[str, Array]) -> Tensor:
    """An elementwise node or chain; scalars among `constants` become part of the source."""
    present = {name: value for name, value in zip(node.inputs, values, strict=True) if name and value is not None}
    rank = max((len(value.shape) for name, value in present.items() if name not in constants), default=-1)
    operands = {
        name: _operand(run, value, name in constants and len(value.shape) <= rank) for name, value in present.items()
    }
    body = node.body if node.op == ELEMENTWISE else [node]
    lines, variables = [], {}
    for number, (name, operand) in enumerate(operands.items()):
        kind = computed_type(operand.dtype, f"{node.name}: {name}")
        lines.append(f"const {kind} a{number} = {operand.literal or f'({kind})x{number}[p{number}]'};")
        variables[name] = (f"a{number}", operand.dtype)
    for number, inner in enumerate(body):
        line, dtype = _statement(inner, f"v{number}", variables)
        lines.append(line)
        variables[inner.outputs[0]] = (f"v{number}", dtype)
    result, dtype = variables[body[-1].outputs[0]]
    title = "_".join(inner.op.lower() for inner in body)
    return evaluate(run, title, lines, result, dtype, list(operands.values()))


def _operand(run: Launcher, value: Value, written_out: bool) -> Operand:
    if written_out and not isinstance(value, Tensor):
        written = literal(value)
        if written is not None:
            return Operand(value.dtype, literal=written)
    return Operand(value.dtype, run.on_device(value))


def _statement(node: Node, name: str, variables: Mapping[str, tuple[str, Any]]) -> tuple[str, np.dtype[Any]]:
    """One line of a chain, and the element type that it gives."""
    operands = [variables[input_name] if input_name else ("", np.dtype(np.float32)) for input_name in node.inputs]
    dtype = result_dtype(node, [dtype for _, dtype in operands])
    kind = computed_type(dtype, f"{node.name}: its result")
    text = as_stored(expression(node, [variable for variable, _ in operands]), dtype)
    return f"const {kind} {name} = ({kind})({text});", dtype


def evaluate(
    run: Launcher, title: str, lines: Sequence[str], result: str, dtype: np.dtype[Any], operands: Sequence[Operand],
    *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Run `lines` for every element, in which operand n is x<n>[p<n>]; `result` is stored."""
    if out is None:
        shapes = [operand.tensor.shape for operand in operands if operand.tensor is not None]
        out = run.empty(broadcast(shapes, title), dtype)
    if out.size:
        run.launch_generated(generated_kernel(title, lines, result, operands, out))
    return out


def fill(run: Launcher, value: Array, out: Tensor) -> Tensor:
    """One number at every place of `out`."""
    kind = C_TYPES[out.dtype.name]
    written = literal(value.reshape(()))
    return evaluate(run, "fill", [f"const {kind} a0 = ({kind}){written};"], "a0", out.dtype, [], out=out)


def broadcast(shapes: Sequence[Sequence[int]], what: str) -> tuple[int, ...]:
    """The shape that several have together; OnnxError where they have none."""
    try:
        return tuple(int(n) for n in np.broadcast_shapes(*(tuple(shape) for shape in shapes)))
    except ValueError:
        shown = ", ".join(str(list(shape)) for shape in shapes)
        raise OnnxError(f"{what}: the shapes {shown} do not broadcast together") from None
