"""The comment block that opens a kernel file: which kernel to run, on which grid, and what the judge must find.

    // 02 coalesced: lanes run along a row of C.
    //
    // entry: matmul_coalesced
    // block: 32 8
    // grid: ceil(N/32) ceil(M/8)
    // shared: 4*32*32            (bytes of dynamic shared memory; 0 when absent)
    // cooperative: yes           (all blocks on the GPU at once, as a barrier between blocks needs; no when absent)
    // needs: 9.0                 (the least compute capability that has its instructions; any when absent)
    // expect: race               (wrong kernels only; the lines at fault end with "// <- here")

Every other line is prose. Grid and block have one to three values, over the problem's sizes and SMS, the number of
multiprocessors of the GPU.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridstride.judge.symbols import ExpressionError, evaluate
from gridstride.one_message import OneMessage
from gridstride.protocol import DeviceProperties

Dim3 = tuple[int, int, int]
MULTIPROCESSORS = "SMS"  # what a launch expression calls the number of multiprocessors

_FIELD = re.compile(r"//\s*([A-Za-z_]+)\s*:\s*(\S.*)")
KEYS = {
    "entry": "which kernel, where the file has several",
    "block": "threads of a block: one to three values, over the problem's sizes",
    "grid": "blocks, likewise, and over SMS, the number of multiprocessors: ceil(n/256) or 4*SMS",
    "shared": "bytes of dynamic shared memory; 0 when absent",
    "cooperative": "yes: all blocks on the GPU at once, as grid.sync() or a barrier of one's own needs",
    "needs": "the least compute capability that has its instructions, as 9.0; any when absent",
    "expect": "the finding that a wrong kernel must get (kernels kept as examples)",
}
"""What a header may say, and what each line of it means."""
_STRAY = re.compile(r"\s*(?:///*|#+)\s*grid\s*:\s*\S")
_MARKER = re.compile(r"//\s*<-\s*here\s*$")
_CAPABILITY = re.compile(r"([0-9]{1,3})\.([0-9])")
# A space separates two values where one ends before it and the next begins after it: not in "N / 16" or "(N, 16)".
_BETWEEN = re.compile(r"(?<=[\w)])\s+(?=[\w(])")


class HeaderError(OneMessage, ValueError):
    """A header line that cannot be used; the message has file, line and the way out."""

    def __init__(self, filename: str, line: int, message: str) -> None:
        super().__init__(f"{filename}:{line}: {message}")
        self.filename, self.line, self.message = filename, line, message


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A launch in numbers: blocks, threads per block, bytes of dynamic shared memory."""

    grid: Dim3
    block: Dim3
    shared: int = 0

    def __str__(self) -> str:
        return f"grid {_dims(self.grid)}, block {_dims(self.block)}"


@dataclass(frozen=True, slots=True)
class SymbolicLaunch:
    """A launch in expressions over the problem's sizes. `cooperative`: all of its blocks are on the GPU at once."""

    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str = "0"
    cooperative: bool = False

    @property
    def flags(self) -> dict[str, bool]:
        """What a launch is told besides its shape so that all of its blocks are on the GPU at once."""
        return {"cooperative": True} if self.cooperative else {}

    def shape(self, symbols: Mapping[str, int]) -> LaunchShape:
        """The launch for one case; ExpressionError names the value that is no use. A grid of 0 where a size is 0 is
        one that is not launched.
        """
        return LaunchShape(
            _dim3("grid", self.grid, symbols), _dim3("block", self.block, symbols), evaluate(self.shared, symbols)
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a wrong kernel must be found guilty of: a kind, a pattern of wrong elements, the lines at fault."""

    kind: str
    pattern: str | None
    lines: frozenset[int]

    def __str__(self) -> str:
        return f"{self.kind} {self.pattern}" if self.pattern else self.kind


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A kernel's source with what its header says; None where the header is silent."""

    name: str
    filename: str
    source: str
    title: str
    entry: str | None
    launch: SymbolicLaunch | None
    expect: Expectation | None
    needs: tuple[int, int] | None = None

    def runs_on(self, gpu: DeviceProperties) -> bool:
        """Whether the GPU has the kernel's instructions, as far as the header says what they need."""
        return self.needs is None or self.needs <= gpu.compute_capability


@dataclass(frozen=True, slots=True)
class HeaderField:
    """A line of a header: its number and what it says."""

    line: int
    value: str


def read_kernel(path: str | Path) -> KernelFile:
    """The kernel file at `path`; HeaderError when its header is wrong, OSError when it cannot be read."""
    path = Path(path)
    return parse_kernel(path.read_text(encoding="utf-8-sig", errors="replace"), filename=str(path))


def parse_kernel(source: str, *, filename: str = "kernel.cu") -> KernelFile:
    """A kernel file from its text; HeaderError when its header is wrong."""
    lines = _opening_comment(source)
    fields = fields_of(lines, filename)
    entry = fields.get("entry")
    return KernelFile(
        name=Path(filename).stem,
        filename=filename,
        source=source,
        title=lines[0].lstrip("/ ").strip() if lines else "",
        entry=entry.value if entry else None,
        launch=_launch(fields, filename),
        expect=_expectation(fields, source),
        needs=_needs(fields, filename),
    )


def split_values(text: str) -> tuple[str, ...]:
    """Values separated by spaces or by commas, where a comma inside brackets belongs to its value."""
    pieces, depth = [""], 0
    for character in _BETWEEN.sub(",", _close_up(text.strip())):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return tuple(piece.strip() for piece in pieces)


def _close_up(text: str) -> str:
    """Take the spaces out of brackets, so that the spaces left are between values."""
    result, depth = [], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if not (depth > 0 and character.isspace()):
            result.append(character)
    return "".join(result)


def _opening_comment(source: str) -> list[str]:
    lines: list[str] = []
    for line in source.splitlines():
        if not line.lstrip().startswith("//"):
            if line.strip():
                break
            if not lines:
                continue
        lines.append(line.strip())
    return lines


def fields_of(lines: list[str], filename: str, keys: Collection[str] = KEYS.keys()) -> dict[str, HeaderField]:
    """The fields of a header that has these; HeaderError for one that is given twice or nearly has one's name."""
    fields: dict[str, HeaderField] = {}
    for number, line in enumerate(lines, start=1):
        match = _FIELD.fullmatch(line)
        if not match:
            continue
        key, value = match[1], match[2].strip()
        if key in fields:
            raise HeaderError(filename, number, f"{key} is given twice, first on line {fields[key].line}")
        if key in keys:
            fields[key] = HeaderField(number, value)
        elif near := difflib.get_close_matches(key.lower(), keys, n=1, cutoff=0.75):
            raise HeaderError(filename, number, f"{key!r} is no header: did you mean {near[0]!r}?")
    return fields


def stray_grid(source: str) -> int | None:
    """The line of a grid that stands below code, where nobody looks for it; None where there is none."""
    for number, line in enumerate(source.splitlines(), start=1):
        if _STRAY.match(line):
            return number
    return None


def _launch(fields: Mapping[str, HeaderField], filename: str) -> SymbolicLaunch | None:
    keys = [key for key in ("grid", "block") if key in fields]
    if not keys:
        if "shared" in fields:
            raise HeaderError(filename, fields["shared"].line, "shared needs a grid and a block beside it")
        return None
    if len(keys) == 1:
        missing = "block" if keys[0] == "grid" else "grid"
        raise HeaderError(filename, fields[keys[0]].line, f"{keys[0]} needs a line `// {missing}: …` beside it")
    values = {key: _values(key, fields[key], filename) for key in keys}
    shared = fields.get("shared")
    return SymbolicLaunch(
        values["grid"], values["block"], shared.value if shared else "0", _cooperative(fields, filename)
    )


def _cooperative(fields: Mapping[str, HeaderField], filename: str) -> bool:
    field = fields.get("cooperative")
    if field is not None and field.value not in ("yes", "no"):
        raise HeaderError(filename, field.line, f"cooperative {field.value}: yes or no belongs there")
    return field is not None and field.value == "yes"


def _values(key: str, field: HeaderField, filename: str) -> tuple[str, ...]:
    values = split_values(field.value)
    if not 1 <= len(values) <= 3 or not all(values):
        raise HeaderError(
            filename, field.line, f"{key} has {len(values)} values ({field.value}): one to three are needed"
        )
    return values


def _needs(fields: Mapping[str, HeaderField], filename: str) -> tuple[int, int] | None:
    field = fields.get("needs")
    if field is None:
        return None
    match = _CAPABILITY.fullmatch(field.value)
    if match is None:
        raise HeaderError(filename, field.line, f"needs {field.value}: a compute capability such as 9.0 belongs there")
    return int(match[1]), int(match[2])


def _expectation(fields: Mapping[str, HeaderField], source: str) -> Expectation | None:
    field = fields.get("expect")
    if field is None:
        return None
    kind, _, pattern = field.value.partition(" ")
    marked = (number for number, line in enumerate(source.splitlines(), start=1) if _MARKER.search(line))
    return Expectation(kind, pattern.strip() or None, frozenset(marked))


def _dim3(what: str, values: tuple[str, ...], symbols: Mapping[str, int]) -> Dim3:
    numbers = [evaluate(value, symbols) for value in values]
    for value, number in zip(values, numbers, strict=True):
        nothing_to_do = what == "grid" and number == 0 and 0 in symbols.values()
        if number < 1 and not nothing_to_do:
            sizes = ", ".join(f"{name}={size}" for name, size in symbols.items())
            raise ExpressionError(f"{what} {value} is {number} for {sizes}: at least 1 is needed")
    x, y, z = (*numbers, 1, 1)[:3]
    return (x, y, z)


def _dims(dims: Dim3) -> str:
    shown = dims[: 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1]
    return "×".join(str(extent) for extent in shown)
