"""The launch that a kernel's own text asks for, where its header says none: what is proposed to a beginner."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence

from gridstride.compiler.signature import SourceParameter as OwnParameter
from gridstride.compiler.signature import signatures
from gridstride.judge.header import KernelFile
from gridstride.judge.index_bounds import BLOCK, PART, Axis, IndexText
from gridstride.judge.parameter_names import ProblemParameter, match
from gridstride.judge.problem import Signature

_LONGEST = 100_000  # characters of a file that is read; this is advice, and not worth a wait
_THREADS = 256
_ROW, _ROWS = 32, 8  # a block over rows and columns
_SHARED = re.compile(r"__shared__\s+(?:alignas\(\w+\)\s*)?(?:unsigned\s+)?\w+\s+\w+\s*\[(\w+)\](?:\s*\[([^\]]+)\])?")
_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:alignas\(\w+\)\s*)?(?:unsigned\s+)?(\w+)\s+\w+\s*\[\s*\]")
_BYTES = {
    **dict.fromkeys("char bool int8_t uint8_t uchar".split(), 1),
    **dict.fromkeys("half __half __nv_bfloat16 short int16_t uint16_t ushort".split(), 2),
    **dict.fromkeys("float int unsigned uint int32_t uint32_t half2 __half2 __nv_bfloat162 char4 uchar4".split(), 4),
    **dict.fromkeys("double long int64_t uint64_t size_t float2 int2 uint2".split(), 8),
    **dict.fromkeys("float4 int4 uint4 double2".split(), 16),
}
"""Of an element, by its type; of any other type nothing is proposed."""


def cuda_header(signature: Signature, kernel: KernelFile) -> list[str]:
    """Lines that open a CUDA C++ file; none where its text does not tell what they should be."""
    if len(kernel.source) > _LONGEST:
        return []
    kernel_signatures = signatures(kernel.source)
    own = kernel_signatures.get(kernel.entry or "") or (
        next(iter(kernel_signatures.values())) if len(kernel_signatures) == 1 else None
    )
    if own is None:
        return []
    lines = _lines(signature, IndexText(kernel.source, _sizes(signature, own.parameters)), kernel.source)
    if lines and (dynamic := _DYNAMIC.search(kernel.source)):
        threads = [int(number) for number in lines[1].split()[1:]]
        if len(threads) != 1 or dynamic[1] not in _BYTES:
            return []
        lines.append(f"shared: {_BYTES[dynamic[1]] * threads[0]}")
    return [f"// {line}" for line in lines]


def _lines(signature: Signature, text: IndexText, source: str) -> list[str]:
    """Grid and block, for threads that the text numbers itself."""
    axes = [text.axis(letter) for letter in "xyz"]
    block = _block(text, source, axes)
    extents = _extents(signature, axes)
    if not block or len(extents) > len(block):
        return []
    grid = [_blocks(text, axis, extent, block[at]) for at, (axis, extent) in enumerate(extents)]
    return [f"grid: {' '.join(grid)}", f"block: {' '.join(map(str, block))}"] if grid and all(grid) else []


def _sizes(signature: Signature, own: Sequence[OwnParameter]) -> dict[str, str]:
    """The problem's sizes by the kernel's names: the same name, else the same place."""
    sizes = _size_names(signature)
    sizes_by_name = {parameter.name: parameter.name for parameter in own if parameter.name in sizes}
    if len(own) == len(signature.parameters):
        for name, theirs in zip(own, signature.parameters, strict=True):
            if theirs.name in sizes and not name.pointer:
                sizes_by_name.setdefault(name.name, theirs.name)
    return sizes_by_name


def _size_names(signature: Signature) -> set[str]:
    """Numbers of the kernel that shapes are written with."""
    symbols = {
        word
        for parameter in signature.parameters
        for extent in parameter.shape
        for word in re.findall(r"[A-Za-z_]\w*", extent)
    }
    return symbols & {parameter.name for parameter in signature.parameters if parameter.role == "scalar"}


def _extents(signature: Signature, axes: Sequence[Axis | None]) -> list[tuple[Axis | None, str]]:
    """Each axis of the grid with what it runs over; none where that is not clear."""
    used = [axis for axis in axes if axis]
    if any(axis is None for axis in axes[: len(used)]) or any(axis.step == PART for axis in used):
        return []
    if all(axis.bound for axis in used):
        return [(axis, axis.bound) for axis in used] or [(None, "1")]
    if len(used) == 2:
        return _across_and_down(signature, used)
    extent = _extent_of_rows(signature) if used[0].step == "1" else _extent_of_elements(signature)
    return [(used[0], extent)] if len(used) == 1 and extent else []


def _across_and_down(signature: Signature, axes: Sequence[Axis]) -> list[tuple[Axis | None, str]]:
    """Of two axes one counts rows and is held against nothing: the other one's bound says which rows."""
    output = next(parameter for parameter in signature.parameters if parameter.written)
    other_extents = [extent for extent in output.shape if extent not in (axes[0].bound, axes[1].bound)]
    if len(output.shape) != 2 or len(other_extents) != 1 or any(not axis.bound and axis.step != "1" for axis in axes):
        return []
    return [(axis, axis.bound or other_extents[0]) for axis in axes]


def _extent_of_rows(signature: Signature) -> str:
    """The first extent of a matrix, which the output has, too; empty where there is none."""
    rows = {parameter.shape[0] for parameter in signature.parameters if len(parameter.shape) == 2}
    outputs = {
        parameter.shape[0]
        for parameter in signature.parameters
        if parameter.written and parameter.shape and len(parameter.shape) <= 2
    }
    return next(iter(outputs)) if len(outputs) == 1 and outputs <= rows else ""


def _extent_of_elements(signature: Signature) -> str:
    """All elements of the output; empty where their number is no size."""
    output = next(parameter for parameter in signature.parameters if parameter.written)
    all_symbolic = all(re.search("[A-Za-z]", extent) for extent in output.shape)
    return "*".join(map(_factor, output.shape)) if all_symbolic else ""


def _block(text: IndexText, source: str, axes: Sequence[Axis | None]) -> list[int]:
    """Threads of a block along x, and along y where the kernel has an index of it."""
    letters = "xy" if text.has("threadIdx.y") else "x"
    steps = [_threads(text, axis) for axis in axes[: len(letters)]]
    is_single_block = not any(axes) and any(map(text.has, ("gridDim", "this_grid")))
    if None in steps or is_single_block or text.has("threadIdx.z"):
        return []
    if not text.has("threadIdx.x"):
        return [1] if any(axes) or re.search(r"\b(?:for|while)\b", source) else []  # an empty one tells nothing
    tile = [[text.number(side) for side in sides if side] for sides in _SHARED.findall(source)]
    usual = _of_tile(tile, len(letters)) or ([_THREADS] if len(letters) == 1 else [_ROW, _ROWS])
    block = [step or usual[at] for at, step in enumerate(steps)]
    return block if 16 <= math.prod(block) <= 1024 else []


def _threads(text: IndexText, axis: Axis | None) -> int | None:
    """Threads along an axis whose index goes by a number that the text has; 0: any, None: the text does not tell."""
    if axis is None or axis.step in (BLOCK, "1"):
        return 0
    return text.number(axis.step) if axis.threads else None


def _of_tile(arrays: Sequence[Sequence[int | None]], dimensions: int) -> list[int]:
    """A block that fits the shared array with an element for each thread."""
    for sides in arrays:
        if len(sides) == dimensions and (side := sides[0]) and 32 <= side**dimensions <= 1024:
            return [side] * dimensions
    return []


def _blocks(text: IndexText, axis: Axis | None, extent: str, threads: int) -> str:
    """The expression of one dimension of the grid."""
    if axis is None or axis.step == "1":
        return f"ceil({extent})" if "/" in extent else _plain(extent)
    step = threads if axis.step == BLOCK else text.number(axis.step)
    return f"ceil({_factor(extent)}/{step})" if step else ""


def _factor(extent: str) -> str:
    return f"({extent})" if re.search(r"[+-]", extent) else _plain(extent)


def _plain(extent: str) -> str:
    return extent.replace(" ", "")


def python_header(signature: Signature, kernel: KernelFile, language: str) -> list[str]:
    """The same for a Triton or Numba file."""
    function = _function(kernel) if len(kernel.source) <= _LONGEST else None
    try:
        lines = (_triton if language == "triton" else _numba)(signature, kernel, function) if function else []
    except RecursionError:  # parentheses within parentheses, more than Python writes down again
        return []
    return [f"# {line}" for line in lines]


def _function(kernel: KernelFile) -> ast.FunctionDef | None:
    try:
        body = ast.parse(kernel.source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return next(
        (statement for statement in body if isinstance(statement, ast.FunctionDef) and statement.name == kernel.entry),
        None,
    )


def _triton(signature: Signature, kernel: KernelFile, function: ast.FunctionDef) -> list[str]:
    arguments = function.args.args
    constants = [
        argument.arg
        for argument in arguments
        if argument.annotation and "constexpr" in ast.unparse(argument.annotation)
    ]
    own = [argument.arg for argument in arguments if argument.arg not in constants]
    text = re.sub(r"\b(?:and|or)\b", "&", ast.unparse(function))
    for at, letter in enumerate("xyz"):
        text = re.sub(rf"\btl\.program_id\((?:axis=)?{at}\)(?:\.to\([\w.]+\))?", f"blockIdx.{letter}", text)
    grid = _programs(signature, IndexText(text, _by_name(signature, function.name, own)), constants)
    configurations = " ".join(re.findall(r"Config\(\s*\{([^}]*)\}", kernel.source))
    known_constants = {
        *re.findall(r"['\"](\w+)['\"]\s*:", configurations),
        *_with_defaults(arguments, function.args.defaults),
    }
    side = 1024 if len(grid) == 1 and "*ceil" not in grid[0] else 32
    values = [f"{name}={side}" for name in constants if name not in known_constants]
    lines = [f"grid: {' '.join(grid)}", *([f"constants: {' '.join(values)}"] if values else [])]
    return lines if grid else []


def _with_defaults(arguments: Sequence[ast.arg], defaults: Sequence[ast.expr]) -> list[str]:
    return [argument.arg for argument in arguments[len(arguments) - len(defaults) :]]


def _programs(signature: Signature, text: IndexText, constants: Sequence[str]) -> list[str]:
    """Triton's grid over the problem's sizes and the kernel's constants."""
    axes = [text.axis(letter) for letter in "xyz"]
    tiles = [f"ceil({size}/{step})" for size, step in text.quotients() if step in constants]
    if tiles and axes[0] is not None and axes[1] is None and not axes[0].bound:
        return ["*".join(tiles)]  # a program takes one of the tiles of rows and columns, numbered through
    grid = []
    for axis, extent in _extents(signature, axes):
        if axis is None or (axis.step != "1" and axis.step not in constants):
            return []
        grid.append(_plain(extent) if axis.step == "1" else f"ceil({_factor(extent)}/{axis.step})")
    return grid


def _by_name(signature: Signature, kernel: str, own: Sequence[str]) -> Mapping[str, str]:
    """The problem's sizes by the kernel's names, as the judge matches them."""
    sizes = _size_names(signature)
    pairs = zip(own, _argument_order(signature, kernel, own), strict=False)
    named = {name: signature.parameters[position].name for name, position in pairs}
    return {name: size_name for name, size_name in named.items() if size_name in sizes}


def _argument_order(signature: Signature, kernel: str, own: Sequence[str]) -> Sequence[int]:
    try:
        return match(
            kernel, own, [ProblemParameter(parameter.name, parameter.role) for parameter in signature.parameters]
        ).order
    except ValueError:  # more parameters than the problem's, such as strides
        names = [parameter.name for parameter in signature.parameters]
        return [names.index(name) if name in names else 0 for name in own]


def _numba(signature: Signature, kernel: KernelFile, function: ast.FunctionDef) -> list[str]:
    own = [arg.arg for arg in function.args.args]
    text = "\n".join([_loops(function), ast.unparse(function).replace("cuda.", "")])
    text = re.sub(r"\(?(\w+)(?:, (\w+))?\)? = grid\(\d\)", _thread_numbers, text)
    text = re.sub(r"\b(?:and|or)\b", "&", text)
    for name, position in zip(own, _argument_order(signature, function.name, own), strict=False):
        shape = signature.parameters[position].shape
        for at, extent in enumerate(shape):
            text = text.replace(f"{name}.shape[{at}]", extent)
        text = re.sub(rf"\b{name}\.size\b|\blen\({name}\)", "*".join(map(_factor, shape)), text)
    sizes = {
        **{size_name: size_name for size_name in _size_names(signature)},
        **_by_name(signature, function.name, own),
    }
    return _lines(signature, IndexText(text, sizes), kernel.source)


def _loops(function: ast.FunctionDef) -> str:
    """Loops over ranges that begin at the thread's number, as an assignment and a comparison."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For) and isinstance(node.iter, ast.Call)]
    ranges = [
        (ast.unparse(loop.target), [ast.unparse(a) for a in loop.iter.args])
        for loop in loops
        if isinstance(loop.iter, ast.Call)
    ]
    lines = [f"{name} = {bounds[0]}\n{name} < {bounds[1]}" for name, bounds in ranges if len(bounds) > 1]
    return "\n".join(lines).replace("cuda.", "")


def _thread_numbers(match: re.Match[str]) -> str:
    names = [name for name in match.groups() if name]
    return "\n".join(
        f"{name} = blockIdx.{letter} * blockDim.{letter} + threadIdx.{letter}"
        for name, letter in zip(names, "xy", strict=False)
    )
