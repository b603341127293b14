"""figures.toml: the runs, figures and pictures that a lesson's numbers and drawings come from."""

from __future__ import annotations

from pathlib import Path

from gridstride.course.arithmetic import names
from gridstride.course.figures import LAB, counter_names, element_names, of_chip
from gridstride.course.lesson import Figure, Picture, Run
from gridstride.course.strict_toml import Table, read_table


def read(file: Path) -> tuple[dict[str, Run], dict[str, Figure], dict[str, Picture]]:
    """All three by name; LessonError."""
    table = read_table(file)
    runs = {name: _run(file.parent, name, each) for name, each in table.tables("run").items()}
    figures: dict[str, Figure] = {}
    for name, each in table.tables("figure").items():
        figures[name] = _figure(name, each, runs, figures)
    pictures = {name: _picture(file.parent, name, each, runs) for name, each in table.tables("picture").items()}
    table.done()
    return runs, figures, pictures


def _run(folder: Path, name: str, table: Table) -> Run:
    from gridstride.judge.header import HeaderError, read_kernel

    kernel = folder / table.take("kernel", str)
    run = Run(name, kernel, table.take("chip", str, "h200"), table.mapping("sizes"), table.mapping("arrays"),
              table.line())  # fmt: skip
    table.done()
    _check_chip(table, run.chip)
    try:
        header = read_kernel(kernel)
    except (OSError, HeaderError) as error:
        table.fail(f"its kernel cannot be used: {error}", "kernel")
    if header.launch is None or header.entry is None:
        table.fail(f"{kernel.name} opens with no `// entry:`, `// grid:` and `// block:`", "kernel")
    return run


def _figure(name: str, table: Table, runs: dict[str, Run], above: dict[str, Figure]) -> Figure:
    figure = Figure(name, table.take("value", str), table.take("run", str, ""), table.take("chip", str, ""),
                    table.take("record", str, ""), table.texts("of", []), table.take("unit", str, ""),
                    table.line())  # fmt: skip
    table.done()
    given = [each for each in (figure.run, figure.chip, figure.record, figure.of) if each]
    if len(given) != 1:
        table.fail(f"figure {name} has {len(given)} of run, chip, record and of: one of them says where it comes from")
    if figure.record:
        return figure
    known: frozenset[str]
    if figure.of:
        if late := [each for each in figure.of if each not in above]:
            table.fail(f"there is no figure {late[0]!r} above it: there are {', '.join(above) or 'none'}", "of")
        known = frozenset(figure.of)
    elif figure.chip:
        _check_chip(table, figure.chip)
        known = frozenset(of_chip(figure.chip))
    elif figure.run == LAB:
        known = counter_names()
    elif figure.run in runs:
        known = counter_names() | frozenset(runs[figure.run].sizes) | element_names(runs[figure.run])
    else:
        table.fail(f"there is no run {figure.run!r}: there are {', '.join((*runs, LAB))}", "run")
    try:
        unknown = sorted(names(figure.value) - known)
    except ValueError as error:
        table.fail(str(error), "value")
    if unknown:
        table.fail(f"{unknown[0]} in {figure.value!r} is no counter, no datum of a chip and not in `of`", "value")
    return figure


def _picture(folder: Path, name: str, table: Table, runs: dict[str, Run]) -> Picture:
    picture = Picture(name, table.take("run", str, ""), table.take("at", str, ""), table.take("array", str, ""),
                      table.take("columns", int, 16), table.take("timeline", bool, False),
                      table.take("wrong", str, ""), table.line())  # fmt: skip
    table.done()
    if bool(picture.run) == bool(picture.wrong):
        table.fail(f"picture {name} is either of a `run` or of a `wrong` attempt")
    if picture.wrong:
        if not (folder / "wrong" / picture.wrong).is_file():
            table.fail(f"there is no {picture.wrong} in wrong/", "wrong")
        return picture
    if picture.run not in runs:
        table.fail(f"there is no run {picture.run!r}: there are {', '.join(runs)}", "run")
    run = runs[picture.run]
    if sum(map(bool, (picture.at, picture.array, picture.timeline))) != 1:
        table.fail(f"picture {name} is either of a line (`at`), of an `array`, or a `timeline`")
    if picture.at and sum(picture.at in line for line in run.kernel.read_text().splitlines()) != 1:
        table.fail(f"not one line of {run.kernel.name} holds {picture.at!r}", "at")
    if picture.array and picture.array not in run.arrays:
        table.fail(f"run {run.name} has no array {picture.array!r}: there are {', '.join(run.arrays)}", "array")
    return picture


def _check_chip(table: Table, name: str) -> None:
    from gridstride.virtual.chips import chip

    try:
        chip(name)
    except ValueError as error:
        table.fail(str(error), "chip")
