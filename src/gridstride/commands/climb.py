"""`gridstride climb`: a ladder judged rung by rung, and its wrong kernels rejected."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.target import device_of, folder_of, import_the_judge, problem_errors, where
from gridstride.commands.terminal import ProgressDisplay, WrongUse, emit, kernels_print_on_stderr, print_stderr, stdout

if TYPE_CHECKING:
    from gridstride.judge.find import Folder
    from gridstride.judge.header import KernelFile
    from gridstride.judge.ladder import Ladder
    from gridstride.protocol import Device

_EXAMPLE = {"--report": "report.html", "--trace": "trace.json", "--out": "picture.png"}


def run(
    problem: str, *, rungs: Sequence[str], device: str | None, chip: str | None, report: str | None, as_json: bool
) -> bool:
    """Climb, show, and say whether every rung passed and every wrong kernel was rejected."""
    import_the_judge()
    folder = folder_of(problem)
    target = writable(report) if report is not None else None
    chosen = device_of(device, chip)
    ladder = _climb(folder, chosen, rungs)
    if target is not None:
        options = {"device": device, "chip": chip, "report": report}
        _write_report(ladder, target, _command(problem, rungs, options))
    if as_json:
        emit(ladder.json())
    else:
        from gridstride.commands.text.climb_table import show

        show(stdout(), ladder, where(chosen))
    return ladder.passed


def writable(path: str, *, option: str = "--report") -> Path:
    """The path of a report or the like, if a file can be put there; found out before the work rather than after it."""
    target = Path(path)
    if target.is_dir():
        raise WrongUse(f"{option} {path} is a folder: name a file in it, say {target / _EXAMPLE[option]}")
    if not target.parent.is_dir():
        raise WrongUse(f"{option} {path}: there is no folder {target.parent}")
    try:
        handle, probe = tempfile.mkstemp(dir=target.parent, prefix=".gridstride-")
    except OSError as error:
        raise WrongUse(f"{option} {path} cannot be written: {error.strerror}") from error
    os.close(handle)
    with contextlib.suppress(OSError):
        os.unlink(probe)
    return target


def _climb(folder: Folder, device: Device, rungs: Sequence[str]) -> Ladder:
    """The ladder, climbed. With rungs picked by name the wrong kernels and the other languages are left alone."""
    from gridstride.judge.ladder import Listeners, climb
    from gridstride.judge.submission import judge_twins

    with problem_errors():
        # The bar's length is known only once the ladder is, so the ladder reports to whatever bar there is by then.
        steps: list[ProgressDisplay] = []
        ladder = climb(
            folder,
            device=device,
            rungs=rungs,
            listeners=Listeners(lambda text: steps[0].step(text), lambda text: steps[0].detail(text)),
        )
        wrong = () if rungs else ladder.wrong
        twins = () if rungs else _twins_that_run(folder)
        with kernels_print_on_stderr(), ProgressDisplay(len(ladder) + len(twins) + len(wrong)) as progress:
            steps.append(progress)
            for _ in ladder:
                pass
            for _ in judge_twins(ladder, twins, progress=progress.step):
                pass
            if wrong:
                for _ in ladder.rejections():
                    pass
    return ladder


def _twins_that_run(folder: Folder) -> tuple[KernelFile, ...]:
    """Those whose language is installed, where Python can be locked in; it is said of the others that they are not
    judged.
    """
    from gridstride.judge.sandbox.python_kernels import why_not
    from gridstride.judge.submission import language, twins

    twin_files = twins(folder)
    if not twin_files:
        return ()
    missing = why_not()
    available = tuple(
        twin for twin in twin_files if not missing and importlib.util.find_spec(language(twin)) is not None
    )
    for twin in twin_files:
        if twin not in available:
            reason = missing or f"{language(twin)} is not installed"
            print_stderr(f"{twin.name} is left out: {reason}")
    return available


def _write_report(ladder: Ladder, target: Path, command: str) -> None:
    from gridstride.judge.report import render, save

    try:
        save(target, render(ladder, command=command))
    except OSError as error:
        raise WrongUse(f"--report {target} cannot be written: {error.strerror}") from error
    print_stderr(f"report: {target}")


def _command(problem: str, rungs: Sequence[str], options: dict[str, str | None]) -> str:
    """The climb as it can be typed again."""
    import shlex

    picked = [word for rung in rungs for word in ("--rung", rung)]
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
    return shlex.join(["gridstride", "climb", problem, *picked, *words])
