"""A lab done with pencil and paper: a file in TOML, a table for each chip or kernel, checked against the chips' data or
what `gridstride explain` says of the kernels.
"""

from __future__ import annotations

import difflib
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridstride.course.figures.arithmetic import evaluate
from gridstride.course.figures.figures import of_chip, plain_number
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.files.strict_toml import PLACE
from gridstride.course.files.toml_lines import lines_of
from gridstride.course.labs.kernel_rows import explained
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict, with_line
from gridstride.course.lesson import Day, LabSpec, TableColumn

KINDS = ("unreadable", "empty_cell", "wrong_value", "no_number", "unknown_row", "unknown_column",
         "unknown_word")  # fmt: skip
_NUMBER = re.compile(r"\s*(-?\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(.*)", re.DOTALL)
_MOST = 1e30  # no cell holds so much
_WIDE = 60  # characters of a cell that are quoted
_SAME = 0.02  # how near to a slip's ratio a wrong value must be to be taken for it


def judge(day: Day, file: Path) -> LabVerdict:
    """Every cell that is wrong, in the order of the rows; OSError where the file cannot be read."""
    began = time.perf_counter()
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    findings = tuple(_findings(day, text))
    measured = {}
    if not findings:
        bench = WorkedKernels(day)
        measured = {name: bench.value(name) for name in day.lab.measures}
    cells = len(day.lab.rows) * len(day.lab.columns)
    return LabVerdict(day.number, findings, time.perf_counter() - began, measured, cells, source=text)


def _findings(day: Day, text: str) -> Iterator[LabFinding]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        yield _unreadable(text, str(error))
        return
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        yield _unreadable(text, "a number or a list in it is far larger than a cell's")
        return
    lines = lines_of(text)
    yield from _unknown("row", table, day.lab.rows, lines, ())
    for name in day.lab.rows:
        row = table.get(name)
        if not isinstance(row, dict):
            yield LabFinding("empty_cell", f"the table [{name}] is missing", where=name)
            continue
        columns = [column.name for column in day.lab.columns]
        yield from _unknown("column", row, columns, lines, (name,))
        for column in day.lab.columns:
            finding = _cell(day.lab, name, column, row.get(column.name, ""), lines.get((name, column.name)))
            if finding:
                yield finding


def _unreadable(text: str, error: str) -> LabFinding:
    """What is no TOML, with its line."""
    reason, _, _ = error.partition(" (at ")
    match = PLACE.search(error)
    lines = text.splitlines()
    line = min(int(match[1]), len(lines)) if match else len(lines) or 1
    message = f'this is no TOML: {reason}. A cell is `name = number` and nothing more, an empty one `name = ""`'
    return LabFinding("unreadable", message, line, shown=with_line(f"unreadable, line {line}: {message}", text, line))


def _unknown(what: str, cell: Any, expected: Any, lines: Any, path: tuple[str, ...]) -> Iterator[LabFinding]:
    for name in cell:
        if name not in expected:
            near = difflib.get_close_matches(name, expected, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(expected)}"
            yield LabFinding(f"unknown_{what}", f"{name} is no {what} of the table: {hint}", lines.get((*path, name)))


def _cell(lab: LabSpec, row: str, column: TableColumn, cell: Any, line: int | None) -> LabFinding | None:
    where = f"{row}.{column.name}"
    if cell == "":
        unit = f", in {column.unit}" if column.unit else ""
        return LabFinding("empty_cell", f"{where} is empty{unit}: {column.ask}", line, where)
    if column.words:
        return _word(lab, row, column, cell, line)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return LabFinding("no_number", f"{where} is {_short(cell)}: {_no_number(column, cell)}", line, where)
    if abs(cell) >= _MOST:
        return LabFinding("no_number", f"{where} is {_short(cell)}: no figure of a chip is that large", line, where)
    right = evaluate(column.value, _data(lab, row)[1])
    if abs(cell - right) <= column.tolerance * abs(right):
        return None
    # What is right is not told: the slip, or how far off, is enough to find it.
    slip = next((slip for slip in column.slips if abs(cell / right / slip.value - 1) < _SAME), None)
    if not cell > 0:  # nor a NaN
        ratio = "it must be above 0"
    elif lab.kernels:  # the ratio would be the answer, and no kernel would have to be looked at for it
        ratio = f"it is {'more' if cell > right else 'less'} than explain gives"
    else:
        ratio = f"it is {plain_number(cell / right)} times what the chip's data give"
    near = f"within {100 * column.tolerance:g} % is right" if column.tolerance else "it must be exact"
    why = f"{ratio}. {slip.why}" if slip else f"{ratio}; {near}"
    return LabFinding("wrong_value", f"{where} = {cell:g} {column.unit}: {why}", line, where)


def _short(cell: object) -> str:
    """As it stands in the file, and no longer than a line."""
    shown = repr(cell)
    return shown if len(shown) <= _WIDE else f"{shown[:_WIDE]}…"


def _data(lab: LabSpec, row: str) -> tuple[str, dict[str, float]]:
    """A kernel's limiter and counts; of a chip its data, and no limiter."""
    for kernel in lab.kernels:
        if kernel.name == row:
            return explained(kernel)
    return "", of_chip(row)


def _word(lab: LabSpec, row: str, column: TableColumn, cell: Any, line: int | None) -> LabFinding | None:
    """What is wrong in a cell for a word; case does not count."""
    where = f"{row}.{column.name}"
    word = next((word for word in column.words if word.lower() == str(cell).strip().lower()), None)
    if word is None:
        words = ", ".join(f'"{word}"' for word in column.words)
        return LabFinding("unknown_word", f"{where} is {_short(cell)}: one of {words} belongs there", line, where)
    if word == _data(lab, row)[0]:
        return None
    return LabFinding("wrong_value", f'{where} = "{word}": {column.words[word]}', line, where)


def _no_number(column: TableColumn, cell: object) -> str:
    """What to write in place of something else than a number: most often it is one, in quotes."""
    number = _NUMBER.fullmatch(cell) if isinstance(cell, str) else None
    if number is None:
        return f"a number of {column.unit} belongs there, without quotes"
    quotes = "the quotes and what follows the number" if number[2].strip() else "the quotes"
    return f"remove {quotes}, {column.name} = {number[1].replace(',', '')}"
