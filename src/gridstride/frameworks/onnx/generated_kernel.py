"""Source of kernels that go over all elements once: any strides, any broadcast, one expression for each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.expressions import PRELUDE, c_type
from gridstride.frameworks.onnx.tensors import Tensor, collapsed

_HEADERS = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h", "__float2bfloat16": "cuda_bf16.h"}
"""By a word that a source with such elements has."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What an expression reads: a tensor, or a number that stands in the source."""

    dtype: np.dtype[Any]
    tensor: Tensor | None = None
    literal: str = ""


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """A kernel and what it is launched with; its threads share `count` elements by a loop, however many there are."""

    source: str
    entry: str
    count: int
    args: list[Any]


def generated_kernel(
    title: str, lines: Sequence[str], result: str, operands: Sequence[Operand], out: Tensor
) -> GeneratedKernel:
    """Runs `lines` for every element of `out`, in which operand n is x<n>[p<n>], and stores `result`.

    Tensors among the operands broadcast to the shape of `out`, which has elements.
    """
    tensors = {number: operand.tensor for number, operand in enumerate(operands) if operand.tensor is not None}
    wide = {number: tensor.expanded(out.shape) for number, tensor in tensors.items()}
    sizes, strides = collapsed(out.shape, out.strides, *(tensor.strides for tensor in wide.values()))
    if not sizes:
        sizes, strides = [1], [[1] for _ in strides]
    kind = c_type(out.dtype, title)
    entry = f"{title[:48]}_{kind.replace(' ', '_').strip('_')}"
    kinds = [(number, c_type(tensor.dtype, title)) for number, tensor in wide.items()]
    args: list[Any] = [out.size, *sizes[1:], out, *strides[0]]
    for tensor, steps in zip(wide.values(), strides[1:], strict=True):
        args += [tensor, *steps]
    return GeneratedKernel(_source(entry, len(sizes), lines, result, kind, kinds), entry, out.size, args)


def copying_kernel(tensor: Tensor, out: Tensor) -> GeneratedKernel:
    """The elements of a view, bit for bit, in the places that `out` has for them."""
    kind = c_type(tensor.dtype, "a copied value")
    lines = [f"const {kind} a0 = ({kind})x0[p0];"]
    return generated_kernel("copy", lines, "a0", [Operand(tensor.dtype, tensor)], out)


def _source(
    entry: str, rank: int, lines: Sequence[str], result: str, kind: str, inputs: Sequence[tuple[int, str]]
) -> str:
    """The kernel: `rank` sizes, strides of each array, a loop over the elements that a thread has."""
    axes = range(rank)
    parameters = ["int n", *(f"int d{axis}" for axis in axes[1:])]
    parameters += [f"{kind}* y", *(f"int sy_{axis}" for axis in axes)]
    for number, element_type in inputs:
        parameters += [f"const {element_type}* x{number}", *(f"int s{number}_{axis}" for axis in axes)]
    split = ["int r = i;"]
    for axis in reversed(axes[1:]):
        split.append(f"const int i{axis} = r % d{axis}; r /= d{axis};")
    split.append("const int i0 = r;")
    offset_lines = [f"const int py = {_offset_expression('y_', rank)};"]
    offset_lines += [f"const int p{number} = {_offset_expression(f'{number}_', rank)};" for number, _ in inputs]
    text = " ".join([*parameters, *lines])
    headers = "".join(f"#include <{name}>\n" for name in dict.fromkeys(h for w, h in _HEADERS.items() if w in text))
    body = "\n        ".join([*split, *offset_lines, *lines, f"y[py] = ({kind})({result});"])
    return f"""{headers}{PRELUDE if _calls(lines) else ""}
extern "C" __global__ void {entry}(
    {", ".join(parameters)})
{{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
        {body}
    }}
}}
"""


def _offset_expression(prefix: str, rank: int) -> str:
    return " + ".join(f"i{axis} * s{prefix}{axis}" for axis in range(rank))


def _calls(lines: Sequence[str]) -> bool:
    """Whether a function of the prelude is called."""
    names = ("power(", "smaller(", "larger(", "modulo(", "remainder_of(", "saturated")
    return any(name in line for line in lines for name in names)
