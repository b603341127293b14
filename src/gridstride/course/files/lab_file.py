"""lab.toml, and the files of a lab that it speaks of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from gridstride.course.course_errors import LessonError
from gridstride.course.figures.arithmetic import names
from gridstride.course.figures.figures import LAB, OF_A_PROGRAM, counter_names, of_chip
from gridstride.course.files import program_lab_file
from gridstride.course.files.quiz_file import slips
from gridstride.course.files.strict_toml import TomlTable, read_table, text_of
from gridstride.course.lesson import Bound, Figure, KernelRow, LabKind, LabSpec, TableColumn

if TYPE_CHECKING:
    from gridstride.judge.header import Expectation

_LEAST_WRONG = 3
EXPECT = "# expect: "  # how a wrong table says what must be found in it


def read(folder: Path, figures: Mapping[str, Figure]) -> LabSpec:
    """The lab of a day; LessonError for a mistake in it, or in its starter, solution and wrong attempts."""
    table = read_table(folder / "lab.toml")
    kind = table.take("kind", str)
    kinds: dict[str, LabKind] = {kind: kind for kind in get_args(LabKind)}
    if kind not in kinds:
        table.fail(f"kind is {kind!r}: there are {', '.join(kinds)}", "kind")
    hints = table.texts("hints")
    if not hints:
        table.fail("there are no hints", "hints")
    lab = LabSpec(kinds[kind], table.take("title", str), table.take("file", str), table.take("shows", str), hints,
              measures=table.texts("measures", []))  # fmt: skip
    if kind == "kernel":
        lab = _kernel_lab(table, lab, figures)
    elif kind == "program":
        lab = program_lab_file.read(table, lab, _bounds(table, figures))
    else:
        lab = _writing_lab(table, lab)
    table.done()
    if unknown := [name for name in lab.measures if name not in figures]:
        table.fail(f"there is no figure {unknown[0]!r} in figures.toml", "measures")
    _check_files(folder, lab)
    return lab


def figure_names(folder: Path) -> frozenset[str]:
    """What a figure of the lab's run may speak of; LessonError where the lab's kind is none."""
    table = read_table(folder / "lab.toml")
    if table.take("kind", str) != "program":
        return counter_names()
    first = table.list("run")[0].mapping("sizes")
    return frozenset((*OF_A_PROGRAM, *first))


def _kernel_lab(table: TomlTable, lab: LabSpec, figures: Mapping[str, Figure]) -> LabSpec:
    from gridstride.judge.find import problem_names

    lab = replace(lab, problem=table.take("problem", str), chip=table.take("chip", str, "h200"))
    if lab.problem not in problem_names():
        table.fail(f"there is no problem {lab.problem!r}: see `gridstride problems`", "problem")
    return replace(lab, bounds=_bounds(table, figures), passes=table.texts("passes", []))


def _bounds(table: TomlTable, figures: Mapping[str, Figure]) -> tuple[Bound, ...]:
    return tuple(_bound(entry, figures) for entry in table.list("bound"))


def _bound(table: TomlTable, figures: Mapping[str, Figure]) -> Bound:
    bound = Bound(table.take("figure", str), table.take("most", float, math.inf), table.take("why", str),
                  table.take("least", float, -math.inf), table.texts("shows", []),
                  table.take("every_run", bool, False))  # fmt: skip
    table.done()
    if math.isinf(bound.most) and math.isinf(bound.least):
        table.fail("a bound says what a figure may be at `most`, or must be at `least`")
    own = [name for name, figure in figures.items() if figure.run == LAB]
    for key, values in (("figure", (bound.figure,)), ("shows", bound.shows)):
        for name in set(values) - set(own):
            table.fail(f"{name!r} is no figure of the lab's run: there are {', '.join(own) or 'none'}", key)
    return bound


def _writing_lab(table: TomlTable, lab: LabSpec) -> LabSpec:
    from gridstride.course.labs.kernel_rows import value_names
    from gridstride.virtual.chips import names as chip_names

    kernels = tuple(_kernel_row(entry) for entry in table.list("kernel", needed=False))
    chips = table.texts("chips", [])
    if bool(chips) == bool(kernels):
        choice = "both" if chips else "none"
        table.fail(f"the rows of a table are `chips` or [[kernel]]s: there are {choice}", "chips" if chips else "kind")
    if unknown := [chip for chip in chips if chip not in chip_names()]:
        table.fail(f"there is no chip {unknown[0]!r}: there are {', '.join(chip_names())}", "chips")
    allowed_names = frozenset(of_chip(chips[0])) if chips else value_names()
    columns = tuple(_column(entry, allowed_names, bool(kernels)) for entry in table.list("column"))
    return replace(lab, chips=chips, kernels=kernels, columns=columns)


def _kernel_row(entry: TomlTable) -> KernelRow:
    from gridstride.course.labs.kernel_rows import rung_exists
    from gridstride.judge.find import problem_names

    row = KernelRow(entry.take("name", str), entry.take("problem", str), entry.take("rung", str),
                    entry.take("chip", str, "h200"))  # fmt: skip
    entry.done()
    if row.problem not in problem_names():
        entry.fail(f"there is no problem {row.problem!r}: see `gridstride problems`", "problem")
    if not rung_exists(row):
        entry.fail(f"{row.problem} has no rung {row.rung!r}", "rung")
    return row


def _column(entry: TomlTable, allowed_names: frozenset[str], of_kernels: bool) -> TableColumn:
    from gridstride.course.labs.kernel_rows import LIMITER

    name, value, ask = entry.take("name", str), entry.take("value", str), entry.take("ask", str)
    if of_kernels and value == LIMITER:
        column = TableColumn(name, value, "", 0.0, ask, (), entry.mapping("words"))
        entry.done()
        return column
    column = TableColumn(name, value, entry.take("unit", str), entry.take("tolerance", float), ask, slips(entry))
    entry.done()
    try:
        strange = sorted(names(column.value) - allowed_names)
    except ValueError as error:
        entry.fail(str(error), "value")
    if strange:
        what = "count of a kernel" if of_kernels else "datum of a chip"
        entry.fail(f"{strange[0]} in {column.value!r} is no {what}", "value")
    return column


def _check_files(folder: Path, lab: LabSpec) -> None:
    for part in ("starter", "solution"):
        text_of(folder / part / lab.file)
    wrong = sorted(path for path in (folder / "wrong").glob("*") if path.is_file())
    if len(wrong) < _LEAST_WRONG:
        message = f"{len(wrong)} wrong attempts in wrong/: at least {_LEAST_WRONG} are needed"
        raise LessonError(folder / "lab.toml", 1, message)
    for path in wrong:
        if path.suffix != Path(lab.file).suffix:
            raise LessonError(path, 1, f"a wrong attempt at {lab.file} is a {Path(lab.file).suffix} file")
        if lab.kind == "kernel":
            _check_kernel_header(path, lab)
        elif lab.kind == "program":
            _check_program_header(path, lab)
        else:
            _check_table_header(path)
    if lab.kind != "writing":
        _check_promise(folder, lab, wrong)


def _check_promise(folder: Path, lab: LabSpec, wrong: list[Path]) -> None:
    """What the lab shows is more than a right answer: some right kernel of wrong/ is sent back by a bound."""
    from gridstride.course.labs.bounds import KINDS
    from gridstride.judge.header import read_kernel

    for name in lab.passes:
        if not (folder / "worked" / name).is_file():
            raise LessonError(folder / "lab.toml", 1, f"passes names {name!r}, which is no file of worked/")
    if not set(KINDS) & {expect.kind for path in wrong if (expect := read_kernel(path).expect)}:
        syntax = f"`expect: {KINDS[0]} FIGURE`" if lab.kind == "kernel" else f"`expect: {' or '.join(KINDS)} FIGURE`"
        message = f"no wrong attempt has {syntax}: which {lab.kind} with a right answer has missed the lab?"
        raise LessonError(folder / "lab.toml", 1, message)


def _check_kernel_header(path: Path, lab: LabSpec) -> None:
    from gridstride.judge.proof.expectations import misread

    _check_expectation(path, lab, misread)


def _check_program_header(path: Path, lab: LabSpec) -> None:
    from gridstride.course.labs.program_findings import KINDS
    from gridstride.judge.proof.expectations import misread

    _check_expectation(path, lab, lambda expect: "" if expect is not None and expect.kind in KINDS else misread(expect))


def _check_expectation(path: Path, lab: LabSpec, misread: Callable[[Expectation | None], str]) -> None:
    """What a wrong attempt says that must be found in it: beyond which bound it is, or else what `misread` knows."""
    from gridstride.course.labs.bounds import KINDS
    from gridstride.judge.header import HeaderError, read_kernel

    try:
        expect = read_kernel(path).expect
    except HeaderError as error:
        raise LessonError(path, error.line, error.message) from error
    if expect is not None and expect.kind in KINDS:
        bounded = [bound.figure for bound in lab.bounds]
        hint = f"the lab has bounds on {', '.join(bounded) or 'nothing'}"
        message = "" if expect.pattern in bounded else f"expect: {expect.kind} {expect.pattern or ''}: {hint}"
    else:
        message = misread(expect)
    if message:
        line = next((n for n, line in enumerate(text_of(path).splitlines(), start=1) if "expect:" in line), 1)
        raise LessonError(path, line, message)


def _check_table_header(path: Path) -> None:
    from gridstride.course.labs.table_lab import KINDS

    lines = text_of(path).splitlines()
    at = next((number for number, line in enumerate(lines, start=1) if line.startswith(EXPECT)), None)
    if at is None:
        raise LessonError(path, 1, f"there is no line `{EXPECT}KIND ROW.COLUMN`: what must be found in it?")
    kind = lines[at - 1].removeprefix(EXPECT).split()[0]
    if kind not in KINDS:
        raise LessonError(path, at, f"expect: {kind!r} is no finding of a table: there are {', '.join(KINDS)}")
