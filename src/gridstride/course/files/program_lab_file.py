"""What lab.toml says of a lab whose file is a whole program: its runs, what it is given and what it must print."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.course.figures.arithmetic import names
from gridstride.course.figures.figures import OF_A_PROGRAM
from gridstride.course.files.figure_file import failures, gpus, memory
from gridstride.course.files.strict_toml import TomlTable
from gridstride.course.labs.bounds import UNORDERED
from gridstride.course.lesson import Bound, LabRun, LabSpec, PrintedLine

if TYPE_CHECKING:
    from gridstride.judge.problem import Problem

OWN = "problem.py"
"""What a lab calls the problem that lies beside its lab.toml."""
_MOST_SECONDS = 60.0


def read(table: TomlTable, lab: LabSpec, bounds: tuple[Bound, ...]) -> LabSpec:
    """The lab with what is a program's own; LessonError."""
    name = table.take("problem", str, "")
    own = table.file.parent if name == OWN else None
    lab = replace(
        lab, problem="" if own else name, own_problem=own, chip=table.take("chip", str, "h200"),
        arguments=table.texts("arguments", []), seconds=table.take("seconds", float, lab.seconds),
        passes=table.texts("passes", []), numbers=table.texts("numbers", []),
        modelled=table.take("modelled", bool, False), bounds=bounds,
    )  # fmt: skip
    if not 0 < lab.seconds <= _MOST_SECONDS:
        table.fail(f"seconds is {lab.seconds:g}: a run has from 0 to {_MOST_SECONDS:g}", "seconds")
    lab = replace(lab, runs=tuple(_run(entry) for entry in table.list("run")))
    _check_runs(table, lab)
    sizes = set(lab.runs[0].sizes)
    all_sizes = sizes | _of_problem(table, lab)
    for argument in lab.arguments:
        _check_names(table, "arguments", _fields(table, "arguments", argument), all_sizes)
    for text in lab.numbers:
        for field in _fields(table, "numbers", text):
            _check_names(table, "numbers", names(field), {*sizes, *OF_A_PROGRAM})
    lab = replace(lab, lines=tuple(_line(entry, sizes) for entry in table.list("line", needed=False)))
    lab = replace(lab, in_order=table.take("in_order", bool, False))
    if lab.in_order and any(line.by_kernel for line in lab.lines):
        table.fail("what kernels print comes in no order: in_order is for lines of the host", "in_order")
    if not lab.lines and not lab.problem and not lab.own_problem:
        table.fail(
            "a program is judged by what it prints ([[line]]) or by the results of a `problem`: there is neither"
        )
    return lab


def problem_of(lab: LabSpec) -> Problem | None:
    """Whose data and answers the lab's runs have; None where they have neither. ProblemError for one that is unfit."""
    from gridstride.judge.find import find

    named: Path | str | None = lab.own_problem or lab.problem or None
    return find(named).problem if named else None


def _run(table: TomlTable) -> LabRun:
    sizes = {name: _range(table, name, value) for name, value in table.mapping("sizes").items()}
    is_so = {name: table.take(name, bool, False) for name in ("idle", "late", "checks", "ordered")}
    share = table.take("may_be_right", float, 0.0)
    if not 0 <= share < 1 or (share and not is_so["idle"]):
        table.fail(f"may_be_right is {share:g}: the share of an idle run's results, from 0 to below 1", "may_be_right")
    run = LabRun(sizes, failures(table), table.take("status", int, 0), gpus(table), memory(table), **is_so,
                 may_be_right=share)  # fmt: skip
    table.done()
    return run


def _range(table: TomlTable, name: str, value: Any) -> tuple[int, int]:
    low, high = value if isinstance(value, list) and len(value) == 2 else (value, value)
    if not all(isinstance(end, int) and not isinstance(end, bool) for end in (low, high)) or low > high:
        table.fail(f"size {name} is {value!r}: a whole number, or [lowest, highest] to draw it from", "sizes")
    return low, high


def _unlike_others(run: LabRun) -> int:
    return bool(run.fails) + run.idle + run.late + run.checks + run.ordered


def _check_runs(table: TomlTable, lab: LabSpec) -> None:
    first = lab.runs[0]
    if _unlike_others(first) or any(low != high for low, high in first.sizes.values()):
        table.fail("the first run has fixed sizes and no failing calls: the lab's figures are counted in it", "run")
    if reserved := sorted(set(first.sizes) & set(OF_A_PROGRAM)):
        table.fail(f"a size cannot be called {reserved[0]}, which figures count of a run by that name", "run")
    if any(run.idle for run in lab.runs) and not (lab.problem or lab.own_problem):
        table.fail("of an idle run the results are looked at: the lab has no problem", "run")
    if any(_unlike_others(run) > 1 for run in lab.runs):
        table.fail("a run has failing calls, is idle, is late, checks all calls or is ordered: one of them", "run")
    if any(run.ordered for run in lab.runs) and all(bound.figure != UNORDERED for bound in lab.bounds):
        table.fail(f"an ordered run is held to a bound on {UNORDERED}: the lab has none", "run")
    if any(set(run.sizes) != set(first.sizes) for run in lab.runs):
        table.fail(f"every run has the sizes of the first: {', '.join(first.sizes) or 'none'}", "run")
    compared = [run for run in lab.runs if not (run.fails or run.idle or run.checks)]
    for name, (_, most) in first.sizes.items():
        if all(run.sizes[name][1] <= most for run in compared):
            table.fail(f"no run has more than the first's {name} = {most}: a grid for that would pass", "run")
    if not any(low < high for run in lab.runs for low, high in run.sizes.values()):
        table.fail("no run draws its sizes: what is known before the run can be printed without the work", "run")


def _of_problem(table: TomlTable, lab: LabSpec) -> set[str]:
    """What the problem gives besides sizes, by name; its sizes must be the runs'."""
    from gridstride.judge.find import problem_names

    if lab.problem and lab.problem not in problem_names():
        table.fail(f"there is no problem {lab.problem!r}: see `gridstride problems`", "problem")
    if lab.own_problem and not (lab.own_problem / OWN).is_file():
        table.fail(f"there is no {OWN} beside lab.toml", "problem")
    problem = problem_of(lab)
    if problem is None:
        return set()
    if set(problem.sizes) != set(lab.runs[0].sizes):
        table.fail(f"the runs' sizes must be those of {problem.name}: {', '.join(problem.sizes)}", "problem")
    used = {field for argument in lab.arguments for field in _fields(table, "arguments", argument)}
    unused = [p.name for p in problem.parameters if p.shape and p.role != "scratch" and p.name not in used]
    if unused:
        table.fail(
            f"the program is not told where {unused[0]} is: write {{{unused[0]}}} into its arguments", "arguments"
        )
    return {p.name for p in problem.parameters if p.role != "scratch"}


def _line(table: TomlTable, sizes: set[str]) -> PrintedLine:
    by = table.take("by", str, "anyone")
    line = PrintedLine(table.take("text", str), table.mapping("each"), table.mapping("let"), by == "kernel")
    table.done()
    if by not in ("kernel", "anyone"):
        table.fail(f"by is {by!r}: kernel or anyone belongs there", "by")
    defined = set(sizes)
    for key, value in (("each", line.each), ("let", line.let)):
        for name, expression in value.items():
            try:
                _check_names(table, key, names(str(expression)), defined)
            except ValueError as error:
                table.fail(str(error), key)
            defined.add(name)
    _check_names(table, "text", _fields(table, "text", line.text), defined)
    return line


def _fields(table: TomlTable, key: str, text: str) -> list[str]:
    try:
        return [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError as error:
        table.fail(f"{text!r}: {error}; a brace of its own is written twice", key)


def _check_names(table: TomlTable, key: str, names: Iterable[str], defined: Collection[str]) -> None:
    for name in names:
        if name not in defined:
            table.fail(f"there is no {name!r} here: there are {', '.join(sorted(defined)) or 'none'}", key)
