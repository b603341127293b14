"""`gridstride check`: the judge on a user's own kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.target import PATIENCE, device_of, folder_of, import_the_judge, problem_errors, where
from gridstride.commands.terminal import (
    ProgressDisplay,
    WrongUse,
    emit,
    interrupts_held,
    kernels_print_on_stderr,
    stdout,
)

if TYPE_CHECKING:
    from rich.console import Console

    from gridstride.judge.find import Folder
    from gridstride.judge.sandbox.client import Worker
    from gridstride.judge.sandbox.subject import Sandbox
    from gridstride.judge.verdict import RungResult
    from gridstride.protocol import Device

_USUAL_CHIP = "h200"  # what the virtual GPU is where nobody says


def run(file: str, *, problem: str, device: str | None, chip: str | None, as_json: bool, sandbox: bool = True) -> bool:
    """Judge the file, show the verdict, and say whether it passed."""
    source = kernel_source(file, sandbox=sandbox)
    with ExitStack() as stack:
        with interrupts_held():  # between a folder's making and its being known here, nobody would clear it away
            early_worker = _early_worker(device, chip) if sandbox else None
            if early_worker is not None:
                stack.callback(early_worker.close)
        import_the_judge()
        chosen = device_of(device, chip)
        room = stack.enter_context(_started(chosen, early_worker)) if sandbox and chosen.kind == "virtual" else sandbox
        folder = folder_of(problem)
        from gridstride.judge.submission import check

        with problem_errors(), kernels_print_on_stderr(), ProgressDisplay(1) as progress:
            result = check(file, folder, device=chosen, progress=progress.step, sandbox=room)
    if as_json:
        emit(result.check_json())
    else:
        _show(stdout(), result, folder, source, where(chosen))
        _show_warnings(stdout(), result)
    return result.verdict == "pass"


def _early_worker(kind: str | None, chip: str | None) -> Worker | None:
    """A worker that starts before this process has even imported what knows devices, which takes as long; None where
    the device may be a physical one, or its patience another.
    """
    from gridstride.device.physical.driver import driver_present

    kind = kind or ("virtual" if chip else os.environ.get("GRIDSTRIDE_DEVICE"))
    if kind == "physical" or (kind != "virtual" and driver_present()) or os.environ.get("GRIDSTRIDE_TIME_LIMIT"):
        return None
    from gridstride.judge.sandbox.client import Worker
    from gridstride.judge.sandbox.limits import WorkerLimits
    from gridstride.virtual.machine.workers import cores

    limits = WorkerLimits(launch_seconds=PATIENCE)
    return Worker(limits, chip=(chip or _USUAL_CHIP).lower(), workers=min(2, cores()))


@contextmanager
def _started(device: Device, early_worker: Worker | None) -> Iterator[Sandbox]:
    """A worker that gets ready while this process reads the problem and imports what judges."""
    from gridstride.judge.sandbox.subject import Sandbox

    fits = early_worker is not None and device.chip == early_worker.options["chip"]
    sandbox = Sandbox(device, worker=early_worker if fits else None)
    sandbox.start()
    try:
        yield sandbox
    finally:
        sandbox.close()


def kernel_source(file: str, *, sandbox: bool = True) -> str:
    """The text of a kernel file; WrongUse where it is none, or must not be run without the sandbox."""
    text = source_text(file)
    if file.endswith(".py"):
        if not sandbox:
            raise WrongUse(f"{file} is Python, which is run in a worker only: leave --no-sandbox out")
        _must_be_utf8(file, _bytes(file))
        return text
    if "__global__" not in text:
        raise WrongUse(f"{file} is not a kernel: there is no __global__ function in it")
    return text


def source_text(file: str) -> str:
    """The text of a source file; WrongUse where it is something else."""
    if not file:
        raise WrongUse("no file is named: give that of the kernel")
    if not file.isprintable():
        raise WrongUse(f"{file!r} cannot be judged: rename it, a kernel's file name is one line of UTF-8 text")
    raw = _bytes(file)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WrongUse(f"{file} is UTF-16: save it as UTF-8, which is what the compiler reads")
    if b"\0" in raw:
        raise WrongUse(f"{file} is not a kernel: it is a binary file, source text is needed")
    text = raw.decode(errors="replace")
    if ".visible .entry" in text:
        raise WrongUse(f"{file} is PTX: give the CUDA C++ source that it was made from")
    return text


def _must_be_utf8(file: str, raw: bytes) -> None:
    """WrongUse where Python would refuse the text; a C++ compiler takes any bytes in a comment."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WrongUse(f"{file} is no Python source: line {line} is not UTF-8 text") from error


def _bytes(file: str) -> bytes:
    """What is in the file; WrongUse where that can be no source."""
    from gridstride.course.labs.source_file import NoSource, read_bytes

    if Path(file).is_dir():
        raise WrongUse(f"{file!r} is a folder: give the file of the kernel in it")
    try:
        return read_bytes(file)
    except NoSource as error:
        raise WrongUse(str(error)) from error
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}") from error


def _show(console: Console, result: RungResult, folder: Folder, source: str, device: str) -> None:
    from gridstride.commands.text.findings import finding_lines

    problem = folder.problem
    if result.verdict == "pass":
        error = "" if result.max_error is None else f", largest relative error {result.max_error:.1e}"
        console.print(
            f"pass: {result.rung} computes {problem.name} on {device}: {result.cases} cases{error}", style="green"
        )
        if result.repeatable is False:
            console.print("Two runs differ in their last bits, within the tolerance: its atomics go in any order.")
        _show_notes(console, result)
        _show_figures(console, result, folder)
        return
    where = f" (case {result.cases})" if result.cases else ""
    console.print(f"FAIL: {result.rung} does not compute {problem.name} on {device}{where}", style="bold red")
    for finding in result.findings:
        console.print()
        for line in finding_lines(finding, source):
            console.print(line)
    _show_notes(console, result)


def _show_notes(console: Console, result: RungResult) -> None:
    notes = "\n".join(finding.message for finding in result.findings)
    for note in result.notes:
        if note not in notes:
            console.print(f"note: {note}", style="dim")


def _show_warnings(console: Console, result: RungResult) -> None:
    from gridstride.commands.text.findings import warning_lines

    for line in warning_lines(result):
        console.print(line)


def how_timed(result: RungResult) -> str:
    """What stands behind a measured time, in a sentence."""
    between = f", {result.interval_ms[0]:.4g} to {result.interval_ms[1]:.4g} ms" if result.interval_ms else ""
    warm = f"; {result.warm_ms:.4g} ms with a warm one" if result.warm_ms is not None else ""
    clock = ""
    if result.multiprocessor_mhz:
        low, high = sorted(round(mhz) for mhz in result.multiprocessor_mhz)
        clock = f"; multiprocessors at {low} to {high} MHz" if low < high else f"; multiprocessors at {low} MHz"
    return f"median of {result.rounds} rounds with a cold L2{between}{warm}{clock}"


def _show_figures(console: Console, result: RungResult, folder: Folder) -> None:
    """Time where there is one, then the counters, and the busiest lines."""
    from gridstride.judge.gains import per_request, per_unit, unit_of
    from gridstride.virtual.observe.figures import percent, short, times

    if result.time_ms is not None:
        share = f", {percent(result.speed_of_light)} of the limit" if result.speed_of_light else ""
        peers = "".join(f", {times(ratio)} {name}" for name, ratio in result.peers.items())
        console.print(f"{result.time_ms:.4g} ms{share}{peers}")
        console.print(how_timed(result), style="dim")
    if result.counters:
        unit = unit_of(folder.problem)
        counted = [f"{short(value)} {name.replace('_', ' ')}" for name, value in result.counters.items()]
        console.print(", ".join(counted))
        sectors = per_request(result.counters)
        rate = f", {sectors:.1f} sectors per request" if sectors is not None else ""
        console.print(f"{per_unit(result.counters, unit):.3g} instructions per {unit.name}{rate}")
    if result.predicted_ms is not None and result.time_ms is None:
        console.print(f"predicted {result.predicted_ms:.3g} ms at the timed size; limit: {result.limiter}")
