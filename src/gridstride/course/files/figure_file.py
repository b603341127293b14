"""figures.toml: the runs, figures and pictures that a lesson's numbers and drawings come from."""

from __future__ import annotations

from pathlib import Path

from gridstride.course.figures.arithmetic import names
from gridstride.course.figures.figures import LAB, OF_A_PROGRAM, counter_names, element_names, of_chip
from gridstride.course.files.strict_toml import TomlTable, read_table
from gridstride.course.lesson import Figure, Picture, ProgramRun, WorkedLaunch
from gridstride.programs.calls.activity import Call, failure
from gridstride.programs.calls.peers import MOST
from gridstride.programs.memory_size import memory_size

Runs = dict[str, WorkedLaunch | ProgramRun]


def read(file: Path, of_lab: frozenset[str]) -> tuple[Runs, dict[str, Figure], dict[str, Picture]]:
    """All three by name; `of_lab` is what figures of the lab's own run may speak of. LessonError."""
    table = read_table(file)
    runs: Runs = {name: _run(file.parent, name, entry) for name, entry in table.tables("run").items()}
    figures: dict[str, Figure] = {}
    for name, entry in table.tables("figure").items():
        figures[name] = _figure(name, entry, runs, figures, of_lab)
    pictures = {name: _picture(file.parent, name, entry, runs) for name, entry in table.tables("picture").items()}
    table.done()
    return runs, figures, pictures


def _run(folder: Path, name: str, table: TomlTable) -> WorkedLaunch | ProgramRun:
    from gridstride.judge.header import HeaderError, read_kernel

    if program := table.take("program", str, ""):
        return _program_run(folder / program, name, table)
    kernel = folder / table.take("kernel", str)
    run = WorkedLaunch(name, kernel, table.take("chip", str, "h200"), table.mapping("sizes"), table.mapping("arrays"),
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


def _program_run(program: Path, name: str, table: TomlTable) -> ProgramRun:
    seed = table.take("seed", int, -1)
    run = ProgramRun(name, program, table.take("chip", str, "h200"), table.texts("arguments", []),
                     seed if seed >= 0 else None, failures(table), gpus(table), memory(table),
                     table.line())  # fmt: skip
    table.done()
    _check_chip(table, run.chip)
    if not program.is_file():
        table.fail(f"there is no {program.name} in {program.parent.name}/", "program")
    return run


def failures(table: TomlTable) -> dict[Call, int]:
    """Which calls are made to fail, such as `fails = ["allocation=2"]`."""
    try:
        return dict(failure(text) for text in table.texts("fails", []))
    except ValueError as error:
        table.fail(str(error), "fails")


def gpus(table: TomlTable) -> int:
    """How many GPUs a program sees."""
    number = table.take("gpus", int, 1)
    if not 1 <= number <= MOST:
        table.fail(f"gpus = {number}: a program may see 1 to {MOST}", "gpus")
    return number


def memory(table: TomlTable) -> int | None:
    """Bytes of memory that each GPU of a program has, such as `memory = "64MiB"`; None for what the chip has."""
    text = table.take("memory", str, "")
    try:
        return memory_size(text) if text else None
    except ValueError as error:
        table.fail(str(error), "memory")


def _figure(name: str, table: TomlTable, runs: Runs, above: dict[str, Figure], of_lab: frozenset[str]) -> Figure:
    figure = Figure(name, table.take("value", str), table.take("run", str, ""), table.take("chip", str, ""),
                    table.take("record", str, ""), table.texts("of", []), table.take("unit", str, ""),
                    table.line())  # fmt: skip
    table.done()
    origins = [origin for origin in (figure.run, figure.chip, figure.record, figure.of) if origin]
    if len(origins) != 1:
        table.fail(
            f"figure {name} has {len(origins)} of run, chip, record and of: one of them says where it comes from"
        )
    if figure.record:
        return figure
    value_names: frozenset[str]
    if figure.of:
        if undefined := [origin for origin in figure.of if origin not in above]:
            table.fail(f"there is no figure {undefined[0]!r} above it: there are {', '.join(above) or 'none'}", "of")
        value_names = frozenset(figure.of)
    elif figure.chip:
        _check_chip(table, figure.chip)
        value_names = frozenset(of_chip(figure.chip))
    elif figure.run == LAB:
        value_names = of_lab
    elif figure.run in runs:
        run = runs[figure.run]
        of_kernel = (
            counter_names() | frozenset(run.sizes) | element_names(run) if isinstance(run, WorkedLaunch) else None
        )
        value_names = frozenset(OF_A_PROGRAM) if of_kernel is None else of_kernel
    else:
        table.fail(f"there is no run {figure.run!r}: there are {', '.join((*runs, LAB))}", "run")
    try:
        unknown = sorted(names(figure.value) - value_names)
    except ValueError as error:
        table.fail(str(error), "value")
    if unknown:
        table.fail(f"{unknown[0]} in {figure.value!r} is no counter, no datum of a chip and not in `of`", "value")
    return figure


def _picture(folder: Path, name: str, table: TomlTable, runs: Runs) -> Picture:
    picture = Picture(name, table.take("run", str, ""), table.take("at", str, ""), table.take("array", str, ""),
                      table.take("columns", int, 16), table.take("timeline", bool, False),
                      table.take("output", int, 0), table.take("ptx", str, ""), table.take("wrong", str, ""),
                      table.line())  # fmt: skip
    table.done()
    if sum(map(bool, (picture.run, picture.ptx, picture.wrong))) != 1:
        table.fail(f"picture {name} is either of a `run`, of a kernel's `ptx`, or of a `wrong` attempt")
    if picture.ptx:
        if not (folder / picture.ptx).is_file():
            table.fail(f"there is no {picture.ptx}", "ptx")
        return picture
    if picture.wrong:
        if not (folder / "wrong" / picture.wrong).is_file():
            table.fail(f"there is no {picture.wrong} in wrong/", "wrong")
        return picture
    if picture.run not in runs:
        table.fail(f"there is no run {picture.run!r}: there are {', '.join(runs)}", "run")
    run = runs[picture.run]
    if isinstance(run, ProgramRun):
        if (picture.output > 0) is picture.timeline or picture.at or picture.array:
            table.fail(f"picture {name} is of a program: it shows so many lines of its `output`, or its `timeline`")
        return picture
    if sum(map(bool, (picture.at, picture.array, picture.timeline))) != 1:
        table.fail(f"picture {name} is either of a line (`at`), of an `array`, or a `timeline`")
    if picture.at and sum(picture.at in line for line in run.kernel.read_text().splitlines()) != 1:
        table.fail(f"not one line of {run.kernel.name} holds {picture.at!r}", "at")
    if picture.array and picture.array not in run.arrays:
        table.fail(f"run {run.name} has no array {picture.array!r}: there are {', '.join(run.arrays)}", "array")
    return picture


def _check_chip(table: TomlTable, name: str) -> None:
    from gridstride.virtual.chips import chip

    try:
        chip(name)
    except ValueError as error:
        table.fail(str(error), "chip")
