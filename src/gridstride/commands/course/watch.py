"""`gridstride watch`: a day's lab judged on every save, by a process that stays ready."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.check import kernel_source, source_text
from gridstride.commands.course.course_target import ALL_PASSED, all_passed, chosen_day, course_errors, opened
from gridstride.commands.target import import_the_judge, problem_errors
from gridstride.commands.terminal import (
    WrongUse,
    emit,
    kernels_print_on_stderr,
    print_stderr,
    stdout,
)

if TYPE_CHECKING:
    from gridstride.course.labs.lab_judge import Judge
    from gridstride.course.labs.lab_verdict import LabVerdict
    from gridstride.course.learner.progress import LearnerProgress
    from gridstride.course.lesson import Day

_LOOK = 0.1  # seconds between two looks at the file


def run(word: str | None, *, as_json: bool) -> bool:
    """Judge until the lab passes; with `as_json` once."""
    from gridstride.course.learner.predictions import predictions
    from gridstride.course.learner.workspace import prepare_lab
    from gridstride.course.temporary_folder import temporary_folder

    with temporary_folder(), opened() as progress:
        day = chosen_day(word, progress)
        file, is_new = prepare_lab(day)
        if is_new:
            print_stderr(f"note: {file} was not there: it is the day's starter now")
        with problem_errors(), _judge(day) as judge:
            if as_json:
                verdict = _judged(judge, file, progress)
                emit({**verdict.json(), "file": str(file), "copied": is_new, "predicted": predictions(day, progress)})
                return verdict.passed
            print_stderr(f"watching {file}: save it to have it judged, Ctrl-C ends")
            for unreadable in _saves(file):
                if unreadable:
                    print_stderr(f"error: {unreadable}")
                    continue
                try:
                    verdict = _judged(judge, file, progress)
                except WrongUse as error:  # no kernel at all: the next save may bring one
                    print_stderr(f"error: {error}")
                    continue
                last = verdict.passed and all_passed(progress)
                _show(day, verdict, predictions(day, progress), last=last)
                if verdict.passed:
                    _print_open_questions(day, progress)
                    if day.lab.kind == "program":
                        _show_heaviest(day, file)
                    return True
    return False


def _print_open_questions(day: Day, progress: LearnerProgress) -> None:
    """Questions of the day that nobody has answered, or last answered wrong: a pass is not the whole day."""
    from gridstride.course.learner.standing import standing

    so_far = standing(day, progress)
    wrong, missing = so_far.asked - so_far.right, len(day.questions) - so_far.asked
    parts = [
        f"{count} {word}" for count, word in ((missing, "not answered yet"), (wrong, "last answered wrong")) if count
    ]
    if parts:
        stdout().print(f"Of the day's questions: {', '.join(parts)} (gridstride quiz {day.number})")


def _show_heaviest(day: Day, file: Path) -> None:
    """What the program's heaviest kernel does, from a run of its own behind the verdict."""
    from gridstride.course.labs.program_pictures import NothingToShow, lines
    from gridstride.programs.program_errors import BuildFailed

    try:
        shown = list(lines(day, file))
    except (NothingToShow, BuildFailed, OSError) as error:  # the file may have changed since
        print_stderr(f"note: {error}")
        return
    for line in ("", *shown):
        stdout().print(line, markup=False, highlight=False)


@contextmanager
def _judge(day: Day) -> Iterator[Judge]:
    """What judges the lab of a day, ready; it refuses a file that can be none."""
    if day.lab.kind != "writing":
        import_the_judge()
    from gridstride.course.labs.lab_judge import judge_of

    look = {"kernel": kernel_source, "program": source_text}.get(day.lab.kind)
    with course_errors(), judge_of(day) as judge:
        if day.lab.kind == "program":
            _print_build_note()

        def judged(file: Path) -> LabVerdict:
            if look is not None:
                look(str(file))
            return judge(file)

        yield judged


def _print_build_note() -> None:
    from gridstride.programs.toolchain.link import first_link

    if first_link():
        print_stderr("the compilers build their C++ library first, this once: about a minute of processor time")


def _judged(judge: Judge, file: Path, progress: LearnerProgress) -> LabVerdict:
    try:
        with kernels_print_on_stderr():
            verdict = judge(file)
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}") from error
    _record(verdict, progress)
    return verdict


def _record(verdict: LabVerdict, progress: LearnerProgress) -> None:
    """Keep the verdict; one that cannot be kept is shown all the same."""
    from gridstride.course.course_errors import ProgressError

    try:
        progress.record_verdict(verdict)
    except ProgressError as error:
        print_stderr(f"warning: this verdict was not recorded: {error}")


def _saves(file: Path) -> Iterator[str]:
    """At first, then whenever the file's text is another: why it can be none, or nothing where it is one. An editor may
    take the file away for a moment. WrongUse where it can be none at first.
    """
    last_text: bytes | str | None = None
    stamp: tuple[int, ...] | None = None
    while True:
        try:
            status = file.stat()
            now = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_size)
            text = _bytes_or_error(file) if now != stamp else last_text
        except FileNotFoundError:
            time.sleep(_LOOK)
            continue
        except OSError as error:
            raise WrongUse(f"{file} cannot be read: {error.strerror}") from error
        if isinstance(text, str) and last_text is None:
            raise WrongUse(text)
        stamp = now
        if text != last_text:
            last_text = text
            yield text if isinstance(text, str) else ""
        time.sleep(_LOOK)


def _bytes_or_error(file: Path) -> bytes | str:
    from gridstride.course.labs.source_file import NoSource, read_bytes

    try:
        return read_bytes(file)
    except NoSource as error:
        return str(error)


def _show(day: Day, verdict: LabVerdict, predicted: dict[str, str], *, last: bool) -> None:
    """The verdict in words; `last` where this pass leaves no day open."""
    from gridstride.course.learner.predictions import measurement

    console = stdout()
    if not verdict.passed:
        console.print(f"not yet ({verdict.seconds:.1f} s)", style="bold red")
        for finding in verdict.findings:
            location = f", line {finding.line}" if finding.line else ""
            for line in finding.shown or (f"{finding.kind.replace('_', ' ')}{location}: {finding.message}",):
                console.print(f"  {line}")
        console.print(f"  (gridstride hint {day.number} gives the next hint)\n", style="dim")
        return
    console.print(f"pass ({verdict.seconds:.1f} s): {day.lab.shows}", style="bold green")
    for name, value in verdict.measured.items():
        console.print(f"  {name.replace('_', ' ')}: {measurement(day, name, value, predicted.get(name))}")
    solution = f"gridstride solution {day.number}"
    console.print(f"\n{ALL_PASSED}. Next: {solution}" if last else f"\nNext: {solution}, then gridstride learn")
