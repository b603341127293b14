"""The comment block that opens a Triton or Numba submission, and the types that a problem gives its kernel.

# entry: scale
# grid: ceil(n/BLOCK)
# constants: BLOCK=1024       (Triton: its tl.constexpr parameters)
# warps: 4                    (Triton)
# block: 256                  (Numba)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gridstride.judge.header import HeaderError, KernelFile, Launch, parse_kernel
from gridstride.judge.problem import Parameter, Signature

_OWN = re.compile(r"//\s*(constants|warps)\s*:\s*(\S.*)")
_CONSTANT = re.compile(r"(\w+)\s*=\s*(-?\d+|True|False)")
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
    warps: int


def is_python(filename: str) -> bool:
    """Whether a file is a submission in Python."""
    return filename.endswith(".py")


def parse_python(source: str, *, filename: str) -> PythonFile:
    """The submission from its text, which is not run; HeaderError when its header is wrong."""
    language = "triton" if "triton" in source else "numba" if "numba" in source else ""
    if not language:
        raise HeaderError(filename, 1, "neither triton nor numba is imported: a Python submission is one of the two")
    lines = source.splitlines()
    header = [f"//{line.lstrip()[1:]}" for line in _opening(lines)]
    own = {match[1]: match[2] for line in header if (match := _OWN.fullmatch(line.strip()))}
    has_block = any(re.match(r"//\s*block\s*:", line) for line in header)
    text = "\n".join([*header, *([] if has_block else ["// block: 1"])])
    parsed = parse_kernel(text, filename=filename)
    if parsed.entry is None:
        raise HeaderError(filename, 1, "which function is the kernel? It needs a line `# entry: …`")
    constants = _constants(own.get("constants", ""), filename)
    launch = _filled_in(parsed.launch, constants) if parsed.launch else None
    file = KernelFile(parsed.name, filename, source, parsed.title, parsed.entry, launch, parsed.expect, parsed.needs)
    return PythonFile(file, language, constants, _warps(own, filename))


def triton_types(signature: Signature) -> dict[str, str]:
    """Triton's types of the problem's parameters."""
    return {p.name: ("" if p.role == "scalar" else "*") + _TRITON.get(p.dtype, p.dtype) for p in signature.parameters}


def numba_types(signature: Signature) -> str:
    """Numba's signature of the problem's parameters."""
    return f"void({', '.join(map(_numba, signature.parameters))})"


def _numba(parameter: Parameter) -> str:
    if parameter.role == "scalar":
        return parameter.dtype
    return f"{parameter.dtype}[{', '.join([':'] * (len(parameter.shape) - 1) + ['::1'])}]"


def _opening(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if not line.lstrip().startswith("#"):
            break
        kept.append(line)
    return kept


def _filled_in(launch: Launch, constants: dict[str, int | bool]) -> Launch:
    """The launch with the numbers of the constants that it names, as in `# grid: ceil(n/BLOCK)`."""
    numbers = {name: str(int(value)) for name, value in constants.items()}

    def filled(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda name: numbers.get(name[0], name[0]), text)

    return replace(launch, grid=tuple(map(filled, launch.grid)), block=tuple(map(filled, launch.block)))


def _constants(text: str, filename: str) -> dict[str, int | bool]:
    found = dict(_CONSTANT.findall(text))
    if text and not found:
        raise HeaderError(filename, 1, f"constants: {text} is not like BLOCK=1024")
    return {name: value == "True" if value in ("True", "False") else int(value) for name, value in found.items()}


def _warps(own: dict[str, str], filename: str) -> int:
    text = own.get("warps", "4")
    if not text.isdigit():
        raise HeaderError(filename, 1, f"warps: {text} is not a whole number")
    return int(text)
