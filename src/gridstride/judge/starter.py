"""A file to start from: the launch and the declaration that a problem asks for, and a place for the kernel's work."""

from __future__ import annotations

from gridstride.judge.expected import declaration
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Parameter, Problem

_THREADS = 256
_ROW, _ROWS = 32, 8  # a block over rows and columns


def usual_launch(problem: Problem) -> SymbolicLaunch:
    """One thread for each element of the first output: a row of blocks, or rows and columns of them."""
    if problem.launch is not None:
        return problem.launch
    extents = problem.outputs[0].shape
    if len(extents) == 2 and not set(extents) & set(problem.strides):
        rows, columns = extents
        return SymbolicLaunch((f"ceil({columns}/{_ROW})", f"ceil({rows}/{_ROWS})"), (str(_ROW), str(_ROWS)))
    product = "*".join(_factor(extent) for extent in extents) or "1"
    return SymbolicLaunch((f"ceil({product}/{_THREADS})",), (str(_THREADS),))


def _factor(extent: str) -> str:
    return extent if extent.isalnum() else f"({extent})"


def header_lines(problem: Problem) -> list[str]:
    """The two lines that a kernel file for this problem opens with, for one thread for each result."""
    launch = usual_launch(problem)
    return [f"// grid: {' '.join(launch.grid)}", f"// block: {' '.join(launch.block)}"]


def starter(problem: Problem) -> str:
    """A kernel file that compiles and computes nothing yet."""
    out = problem.outputs[0]
    includes = [f"#include <{name}>" for name in _headers(problem)]
    is_2d = len(usual_launch(problem).grid) == 2
    index = (
        "    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;"
        if is_2d
        else "    const int i = blockIdx.x * blockDim.x + threadIdx.x;"
    )
    element = "row, column" if is_2d else "element i"
    lines = [
        f"// {problem.title}.",
        "//",
        *header_lines(problem),
        "",
        *includes,
        *([""] if includes else []),
        declaration(problem.signature, problem.name),
        "{",
        index,
        f"    // {out.name}: {_extent(out)}; leave where {element} lies beyond it, and write it where it does not",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _extent(parameter: Parameter) -> str:
    return " × ".join(parameter.shape)


def _headers(problem: Problem) -> list[str]:
    return ["cuda_fp16.h"] if any(p.dtype == "float16" for p in problem.parameters) else []
