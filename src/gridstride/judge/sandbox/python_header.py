"""The comment block that opens a Triton or Numba submission, and the types that a problem gives its kernel.

# entry: scale
# grid: ceil(n/BLOCK)
# constants: BLOCK=1024       (Triton: its tl.constexpr parameters)
# warps: 4                    (Triton)
# arguments: stride=N         (parameters that the problem does not give, over its sizes)
# block: 256                  (Numba)

Without an entry the one function is taken that is decorated as a kernel and called by no other.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gridstride.judge.header import (
    KEYS,
    HeaderError,
    HeaderField,
    KernelFile,
    SymbolicLaunch,
    fields_of,
    parse_kernel,
    stray_grid,
)
from gridstride.judge.likely_launch import python_header
from gridstride.judge.problem import Parameter, Signature

_OWN = ("constants", "warps", "arguments")
_WARPS = (1, 2, 4, 8, 16, 32)
_ARGUMENT = re.compile(r"(\w+)\s*=\s*([^=]+?)(?=[\s,]+\w+\s*=|$)")
_CONSTANT = re.compile(r"(\w+)=(-?[0-9]{1,18}|True|False)")
_TRITON = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A submission in Python: which compiler it is for, and what its header says."""

    kernel: KernelFile
    language: str  # "triton" or "numba"
    constants: dict[str, int | bool]
    warps: int | None  # None: as a configuration of @triton.autotune says, else 4
    arguments: dict[str, str]  # expressions over the problem's sizes


def is_python(filename: str) -> bool:
    """Whether a file is a submission in Python."""
    return filename.endswith(".py")


def parse_python(source: str, *, filename: str) -> PythonFile:
    """The submission from its text, which is not run; HeaderError when its header is wrong."""
    language = _language(source)
    if not language:
        raise HeaderError(filename, 1, "neither triton nor numba is imported: a Python submission is one of the two")
    if source.lstrip().startswith("//"):
        raise HeaderError(filename, 1, "in Python the lines of the header begin with #, not with //")
    header = [f"//{line.lstrip()[1:]}" for line in _opening(source.splitlines())]
    fields = fields_of([line.strip() for line in header], filename, (*KEYS, *_OWN))
    _check_language(fields, language, filename)
    needs_block = "grid" in fields and "block" not in fields  # Triton's own says how many threads
    parsed = parse_kernel("\n".join([*header, *(["// block: 1"] if needs_block else [])]), filename=filename)
    entry = _entry(source, filename, fields.get("entry"))
    constants = _constants(fields.get("constants"), filename)
    launch = filled_in(parsed.launch, constants) if parsed.launch else None
    file = KernelFile(parsed.name, filename, source, parsed.title, entry, launch, parsed.expect, parsed.needs)
    arguments_field = fields.get("arguments")
    arguments = dict(_ARGUMENT.findall(arguments_field.value)) if arguments_field else {}
    if arguments_field and not arguments:
        raise HeaderError(filename, arguments_field.line, f"arguments: {arguments_field.value} is not like stride=N")
    return PythonFile(file, language, constants, _warps(fields.get("warps"), filename), arguments)


def no_launch(file: PythonFile, signature: Signature) -> str:
    """What belongs at the top of a file that says nothing of its launch: as its indices go, else a usual one."""
    example = "\n".join(python_header(signature, file.kernel, file.language) or _usual(file.language, signature))
    line = stray_grid(file.kernel.source)
    if line is None:
        return f"no launch shape: open the file with its grid over the problem's sizes, such as\n{example}"
    return (
        "the launch shape is read from the comment that opens the file, whose lines begin with # in Python: line "
        f"{line} is none of them. Open the file with such as\n{example}"
    )


def _usual(language: str, signature: Signature) -> list[str]:
    """One thread, or element of a program, for each result."""
    extent = "*".join(next(p for p in signature.parameters if p.written).shape)
    if language == "triton":
        return [f"# grid: ceil({extent}/BLOCK)", "# constants: BLOCK=1024"]
    return [f"# grid: ceil({extent}/256)", "# block: 256"]


def _check_language(fields: Mapping[str, HeaderField], language: str, filename: str) -> None:
    """Fields that the other compiler has, and those that this one lacks."""
    if language == "triton" and "block" in fields:
        why = "block is for Numba: how many threads a Triton program has is said by a line `# warps: 4`"
        raise HeaderError(filename, fields["block"].line, why)
    if language != "numba":
        return
    for name in ("constants", "warps"):
        if name in fields:
            why = f"{name} is for Triton: a Numba kernel is launched with a line `# block: 256` beside its grid"
            raise HeaderError(filename, fields[name].line, why)
    for name, needed_line in (("grid", "block: 256"), ("block", "grid: …")):
        if name in fields and needed_line.partition(":")[0] not in fields:
            raise HeaderError(filename, fields[name].line, f"{name} needs a line `# {needed_line}` beside it")


def _entry(source: str, filename: str, field: HeaderField | None) -> str:
    if field is None:
        return _only_kernel(source, filename)
    names = [function.name for function in _functions(source)]
    assigned = re.search(rf"^\s*{re.escape(field.value)}\s*=", source, re.MULTILINE)
    if names and field.value not in names and not assigned:
        near = difflib.get_close_matches(field.value, names, n=1)
        instead = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise HeaderError(filename, field.line, f"entry: there is no function {field.value!r}: {instead}")
    return field.value


def _functions(source: str) -> list[ast.FunctionDef]:
    """Those of the file's own level; none where it is no Python, which the compiler will say."""
    try:
        return _parsed_functions(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _parsed_functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def _language(source: str) -> str:
    """The compiler that is imported; the one that is named at all where no import is seen."""
    imported = re.findall(r"^\s*(?:import|from)\s+(triton|numba)\b", source, re.MULTILINE)
    named = [module for module in ("triton", "numba") if module in source]
    return next(iter([*sorted(set(imported), reverse=True), *named]), "")


def _only_kernel(source: str, filename: str) -> str:
    """The function that is decorated as a kernel and that no other one calls, or hands to tl.reduce and its like."""
    try:
        functions = _parsed_functions(source)
    except SyntaxError as error:
        raise HeaderError(filename, error.lineno or 1, f"this is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        functions = []
    kernels = [
        function for function in functions if any(_makes_a_kernel(ast.unparse(d)) for d in function.decorator_list)
    ]
    if not kernels and len(functions) == 1:
        return functions[0].name
    used = {
        node.id
        for kernel in kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.Name) and node.id != kernel.name
    }
    names = [kernel.name for kernel in kernels if kernel.name not in used]
    if len(names) == 1:
        return names[0]
    several = f" of {', '.join(names)}" if names else ""
    raise HeaderError(filename, 1, f"which function{several} is the kernel? It needs a line `# entry: …`")


def _makes_a_kernel(decorator: str) -> bool:
    return re.search(r"\bjit\b", decorator) is not None and "device=True" not in decorator.replace(" ", "")


def parameter_types(signature: Signature, language: str) -> list[list[str]]:
    """Name, role and type of each of the problem's parameters, in the language's own words."""
    spelled = _triton if language == "triton" else _numba
    return [[p.name, p.role, spelled(p)] for p in signature.parameters]


def _triton(parameter: Parameter) -> str:
    return ("" if parameter.role == "scalar" else "*") + _TRITON.get(parameter.dtype, parameter.dtype)


def _numba(parameter: Parameter) -> str:
    if parameter.role == "scalar":
        return parameter.dtype
    return f"{parameter.dtype}[{', '.join([':'] * (len(parameter.shape) - 1) + ['::1'])}]"


def _opening(lines: list[str]) -> list[str]:
    opening: list[str] = []
    for line in lines:
        if not line.lstrip().startswith("#"):
            break
        opening.append(line)
    return opening


def filled_in(
    launch: SymbolicLaunch, constants: Mapping[str, int | bool], names: Mapping[str, str] | None = None
) -> SymbolicLaunch:
    """The launch with the numbers of the constants that it names, as in `# grid: ceil(n/BLOCK)`, and with the problem's
    sizes for the kernel's own `names` of them.
    """
    numbers = {**(names or {}), **{name: str(int(value)) for name, value in constants.items()}}

    def filled(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda name: numbers.get(name[0], name[0]), text)

    return replace(launch, grid=tuple(map(filled, launch.grid)), block=tuple(map(filled, launch.block)))


def _constants(field: HeaderField | None, filename: str) -> dict[str, int | bool]:
    constants: dict[str, int | bool] = {}
    for item in re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", field.value)) if field else ():
        match = _CONSTANT.fullmatch(item)
        if field and item and match is None:
            why = f"constants: {item} is not like BLOCK=1024 (whole numbers, True or False)"
            raise HeaderError(filename, field.line, why)
        if match:
            constants[match[1]] = match[2] == "True" if match[2] in ("True", "False") else int(match[2])
    return constants


def _warps(field: HeaderField | None, filename: str) -> int | None:
    if field is None:
        return None
    if field.value not in map(str, _WARPS):  # str.isdigit() says yes to "²", too
        why = f"warps: {field.value} is not a whole number that Triton takes: {', '.join(map(str, _WARPS))}"
        raise HeaderError(filename, field.line, why)
    return int(field.value)
