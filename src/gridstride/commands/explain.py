"""`gridstride explain`: what limits a kernel, line by line, and what to try."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.check import kernel_source
from gridstride.commands.climb import writable
from gridstride.commands.target import device_of, folder_of, import_the_judge, problem_errors, where
from gridstride.commands.terminal import ProgressDisplay, WrongUse, emit, kernels_print_on_stderr, stdout

if TYPE_CHECKING:
    from gridstride.judge.explain import KernelExplanation
    from gridstride.judge.find import Folder
    from gridstride.judge.header import KernelFile


def run(
    file: str,
    *,
    problem: str,
    device: str | None,
    chip: str | None,
    report: str | None,
    as_json: bool,
    sandbox: bool = True,
) -> bool:
    """Judge and explain the file (or the rung of that name), and say whether it passed."""
    import_the_judge()
    folder = folder_of(problem)
    with problem_errors():
        kernel = _kernel(file, folder, sandbox)
    target = writable(report) if report is not None else None
    chosen = device_of(device, chip)
    from gridstride.judge.explain import explain
    from gridstride.judge.submission import require

    with problem_errors():
        require(kernel, chosen.properties)
    with problem_errors(), kernels_print_on_stderr():
        with ProgressDisplay(1 + len(folder.rungs()) + (chosen.kind == "physical")) as progress:
            explanation = explain(kernel, folder, device=chosen, sandbox=sandbox, progress=progress.step)
        if target is not None:
            _write_report(explanation, target, _command(file, problem, device, chip, report))
    if as_json:
        emit(explanation.json())
    else:
        from gridstride.commands.text.explain_text import show

        show(stdout(), explanation, where(chosen))
    return explanation.result.verdict == "pass"


def _kernel(file: str, folder: Folder, sandbox: bool) -> KernelFile:
    """The user's file, or the rung or wrong kernel of that name."""
    from gridstride.judge.submission import submission

    if not Path(file).exists():
        names = {kernel.name: kernel for kernel in (*folder.rungs(), *folder.wrong())}
        numbers = {name.partition("_")[0]: kernel for name, kernel in names.items() if name[0].isdigit()}
        named = names.get(file) or numbers.get(file) or numbers.get(file.zfill(2))
        if named is not None:
            return named
        if "/" not in file and "." not in file:
            raise WrongUse(
                f"there is no file {file}, and {folder.problem.name} has no rung of that name: "
                f"there are {', '.join(names)}"
            )
    kernel_source(file, sandbox=sandbox)  # says so where it is none
    return submission(file)


def _command(file: str, problem: str, device: str | None, chip: str | None, report: str | None) -> str:
    options = {"problem": problem, "device": device, "chip": chip, "report": report}
    words = (f"--{name} {value}" for name, value in options.items() if value is not None)
    return " ".join(["gridstride explain", file, *words])


def _write_report(explanation: KernelExplanation, target: Path, command: str) -> None:
    from gridstride.judge.report.kernel_page import render
    from gridstride.judge.report.save import save

    try:
        save(target, render(explanation, command=command))
    except OSError as error:
        raise WrongUse(f"--report {target} cannot be written: {error.strerror}") from error
