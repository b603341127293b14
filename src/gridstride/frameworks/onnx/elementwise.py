"""Kernels generated for elementwise nodes and chains of them: any strides, any broadcast, one pass over the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.expressions import (
    C_TYPES,
    PRELUDE,
    c_type,
    computed_type,
    expression,
    literal,
    result_dtype,
)
from gridstride.frameworks.onnx.graph import ELEMENTWISE, Array, Node
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.tensors import Tensor, Value, collapsed

THREADS = 256
_MOST_BLOCKS = 1 << 16
_HALF = "float16"


@dataclass(frozen=True, slots=True)
class Operand:
    """What an expression reads: a tensor, or a number that stands in the source."""

    dtype: np.dtype[Any]
    tensor: Tensor | None = None
    literal: str = ""


def run_node(run: Launcher, node: Node, values: Sequence[Value | None], constants: Mapping[str, Array]) -> Tensor:
    """An elementwise node or chain; scalars among `constants` become part of the source."""
    given = {name: value for name, value in zip(node.inputs, values, strict=True) if name and value is not None}
    rank = max((len(value.shape) for name, value in given.items() if name not in constants), default=-1)
    operands = {
        name: _operand(run, value, name in constants and len(value.shape) <= rank) for name, value in given.items()
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
    given = [variables[each] if each else ("", np.dtype(np.float32)) for each in node.inputs]
    dtype = result_dtype(node, [dtype for _, dtype in given])
    kind = computed_type(dtype, f"{node.name}: its result")
    text = expression(node, [variable for variable, _ in given])
    if dtype.name == _HALF:  # as if it had been stored
        text = f"__half2float(__float2half((float)({text})))"
    return f"const {kind} {name} = ({kind})({text});", dtype


def evaluate(
    run: Launcher, title: str, lines: Sequence[str], result: str, dtype: np.dtype[Any], operands: Sequence[Operand],
    *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Run `lines` for every element, in which operand n is x<n>[p<n>]; `result` is stored."""
    tensors = {number: operand.tensor for number, operand in enumerate(operands) if operand.tensor is not None}
    shape = out.shape if out is not None else broadcast([tensor.shape for tensor in tensors.values()], title)
    out = out if out is not None else run.empty(shape, dtype)
    if not out.size:
        return out
    wide = {number: tensor.expanded(shape) for number, tensor in tensors.items()}
    sizes, strides = collapsed(shape, out.strides, *(tensor.strides for tensor in wide.values()))
    if not sizes:
        sizes, strides = [1], [[1] for _ in strides]
    entry = f"{title[:48]}_{C_TYPES[dtype.name].replace(' ', '_').strip('_')}"
    kinds = [(number, c_type(tensor.dtype, title)) for number, tensor in wide.items()]
    source = _source(entry, len(sizes), lines, result, c_type(dtype, title), kinds)
    args: list[Any] = [out.size, *sizes[1:], out, *strides[0]]
    for tensor, steps in zip(wide.values(), strides[1:], strict=True):
        args += [tensor, *steps]
    blocks = min(ceil_div(out.size, THREADS), _MOST_BLOCKS)
    run.launch(run.generated(source, entry), blocks, THREADS, args)
    return out


def copy(run: Launcher, tensor: Tensor, out: Tensor | None = None) -> Tensor:
    """The elements of a view in C order, or in the places that `out` has for them."""
    kind = computed_type(tensor.dtype, "a copied value")
    lines = [f"const {kind} a0 = ({kind})x0[p0];"]
    if tensor.dtype.name == _HALF:
        lines = ["const __half a0 = x0[p0];"]
    shape = tensor.shape if out is None else out.shape
    out = out if out is not None else run.empty(shape, tensor.dtype)
    return evaluate(run, "copy", lines, "a0", tensor.dtype, [Operand(tensor.dtype, tensor)], out=out)


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


def _source(
    entry: str, rank: int, lines: Sequence[str], result: str, kind: str, inputs: Sequence[tuple[int, str]]
) -> str:
    """The kernel: `rank` sizes, strides of each array, a loop over the elements that a thread has."""
    axes = range(rank)
    parameters = ["int n", *(f"int d{axis}" for axis in axes[1:])]
    parameters += [f"{kind}* y", *(f"int sy_{axis}" for axis in axes)]
    for number, each in inputs:
        parameters += [f"const {each}* x{number}", *(f"int s{number}_{axis}" for axis in axes)]
    split = ["int r = i;"]
    for axis in reversed(axes[1:]):
        split.append(f"const int i{axis} = r % d{axis}; r /= d{axis};")
    split.append("const int i0 = r;")
    places = [f"const int py = {_place('y_', rank)};"]
    places += [f"const int p{number} = {_place(f'{number}_', rank)};" for number, _ in inputs]
    half = "#include <cuda_fp16.h>\n" if "__half" in " ".join([*parameters, *lines]) else ""
    body = "\n        ".join([*split, *places, *lines, f"y[py] = ({kind})({result});"])
    return f"""{half}{PRELUDE if _calls(lines) else ""}
extern "C" __global__ void {entry}(
    {", ".join(parameters)})
{{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
        {body}
    }}
}}
"""


def _place(prefix: str, rank: int) -> str:
    return " + ".join(f"i{axis} * s{prefix}{axis}" for axis in range(rank))


def _calls(lines: Sequence[str]) -> bool:
    """Whether a function of the prelude is called."""
    names = ("power(", "smaller(", "larger(", "modulo(", "remainder_of(", "saturated")
    return any(name in line for line in lines for name in names)
