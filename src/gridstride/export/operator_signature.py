"""What a problem's parameters become in an op: tensors that are given, made or written, sizes that follow, numbers."""

from __future__ import annotations

import keyword
from dataclasses import dataclass

from gridstride.export.export_errors import ExportError
from gridstride.export.expressions import solved, unknown_in
from gridstride.judge.header import KernelFile, SymbolicLaunch
from gridstride.judge.problem import Parameter, Problem
from gridstride.judge.symbols import names


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number's type: in PyTorch, in a schema, in C++ as kernels have it, and its C++ type in a schema's function."""

    torch: str
    schema: str
    kernel: str
    boxed: str


NUMERIC = {
    "float16": Numeric("float16", "float", "__half", "double"),
    "bfloat16": Numeric("bfloat16", "float", "__nv_bfloat16", "double"),
    "float32": Numeric("float32", "float", "float", "double"),
    "float64": Numeric("float64", "float", "double", "double"),
    "uint8": Numeric("uint8", "int", "unsigned char", "int64_t"),
    "int8": Numeric("int8", "int", "signed char", "int64_t"),
    "uint16": Numeric("uint16", "int", "unsigned short", "int64_t"),
    "int32": Numeric("int32", "int", "int", "int64_t"),
    "uint32": Numeric("uint32", "int", "unsigned int", "int64_t"),
    "int64": Numeric("int64", "int", "long long", "int64_t"),
    "uint64": Numeric("uint64", "int", "unsigned long long", "int64_t"),
}
"""By NumPy's name; all that problems have."""
ELEMENTS = ("float32", "float16", "bfloat16")
"""What a kernel whose element type is a macro is compiled for."""


@dataclass(frozen=True, slots=True)
class SizeSource:
    """A size of the problem, and where it comes from: an axis of a tensor that is given, or an argument of its own.

    extent of the axis = scale * size + offset; `axis` counts from the last one, and `leading` says that all axes in
    front belong to it, too.
    """

    name: str
    array: str = ""
    axis: int = 0
    leading: bool = False
    scale: int = 1
    offset: int = 0

    @property
    def is_argument(self) -> bool:
        """Whether no tensor tells it."""
        return not self.array


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """One op. `name` is a word of Python; parameters keep their order, and their names but for Python's keywords."""

    name: str
    problem: Problem
    kernel: KernelFile
    launch: SymbolicLaunch
    sizes: tuple[SizeSource, ...]
    elements: tuple[str, ...]
    of_element: frozenset[str]
    """Arrays whose dtype is the kernel's element type, where it has one; `elements` are those it is compiled for."""

    @property
    def arrays(self) -> tuple[Parameter, ...]:
        """All, in the kernel's order."""
        return tuple(parameter for parameter in self.problem.parameters if parameter.shape)

    @property
    def given(self) -> tuple[Parameter, ...]:
        """Tensors that the caller gives, those that are written in place among them."""
        return tuple(array for array in self.arrays if array.given)

    @property
    def made(self) -> tuple[Parameter, ...]:
        """Tensors that come out."""
        return tuple(array for array in self.arrays if array.role == "out")

    @property
    def written(self) -> tuple[Parameter, ...]:
        """Tensors that are given and written in place."""
        return tuple(parameter for parameter in self.given if parameter.written)

    @property
    def has_slopes(self) -> bool:
        """Whether a gradient could be asked for: of something of floating point, to something that is, too."""
        return any(map(is_floating, self.given)) and any(map(is_floating, self.made))

    @property
    def numbers(self) -> tuple[tuple[str, str], ...]:
        """Name and dtype of each number that the caller gives: sizes that no tensor tells, and the problem's own."""
        derived = {size.name for size in self.sizes if not size.is_argument}
        own = [
            (parameter.name, parameter.dtype)
            for parameter in self.problem.parameters
            if not parameter.shape and parameter.name not in derived
        ]
        listed = {name for name, _ in own}
        return (*own, *((size.name, "int64") for size in self.sizes if size.is_argument and size.name not in listed))

    def like(self, output: Parameter) -> Parameter | None:
        """A tensor that is given with the shape and dtype of one that is made; it has its axes in front, too."""
        matching = (
            parameter
            for parameter in self.given
            if (parameter.shape, parameter.dtype) == (output.shape, output.dtype)
            and (parameter.name in self.of_element) is (output.name in self.of_element)
        )
        return next(matching, None)

    @property
    def entry(self) -> str:
        """The kernel's name."""
        assert self.kernel.entry is not None
        return self.kernel.entry


def is_floating(parameter: Parameter) -> bool:
    """Whether its elements can have gradients."""
    return NUMERIC[parameter.dtype].schema == "float"


def word(name: str) -> str:
    """A parameter's name, which may be none in Python."""
    return f"{name}_" if keyword.iskeyword(name) else name


def signature(
    problem: Problem, kernel: KernelFile, *, elements: tuple[str, ...] = (), of_element: frozenset[str] = frozenset()
) -> OperatorSignature:
    """The op of a kernel that the judge has passed; ExportError for what has no launch or no entry of its own."""
    launch = kernel.launch or problem.launch
    if launch is None or kernel.entry is None:
        raise ExportError(f"{kernel.filename} says no `// entry:` and `// grid:`, which its launcher is made from")
    for parameter in problem.parameters:
        if parameter.dtype not in NUMERIC:
            raise ExportError(f"{problem.name}: {parameter.name} is {parameter.dtype}, which no tensor of PyTorch is")
    own = elements or (problem.parameters[0].dtype,)
    return OperatorSignature(problem.name, problem, kernel, launch, _sizes(problem), own, of_element)


def _sizes(problem: Problem) -> tuple[SizeSource, ...]:
    """Each size from the first axis that tells it; those in front of a tensor's own axes count as its first."""
    sizes: dict[str, SizeSource] = {}
    inputs = [parameter for parameter in problem.parameters if parameter.shape and parameter.given]
    for _ in problem.sizes:  # one may follow from another
        for parameter in inputs:
            for number, extent in enumerate(parameter.shape):
                size = unknown_in(extent, set(sizes))
                line = solved(extent, size) if size is not None else None
                if size is not None and line is not None:
                    sizes[size] = SizeSource(
                        size, parameter.name, len(parameter.shape) - number, number == 0 and line == (1, 0), *line
                    )
    undefined = {
        name for parameter in problem.parameters for extent in parameter.shape for name in names(extent)
    } - set(sizes)
    return (*sizes.values(), *(SizeSource(name) for name in sorted(undefined)))
