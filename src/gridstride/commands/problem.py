"""`gridstride problem`: what a problem asks for, writing one of one's own, and proving that it can judge."""

from __future__ import annotations

import keyword
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.commands.target import device_of, folder_of, import_the_judge, problem_errors, where
from gridstride.commands.terminal import ProgressDisplay, WrongUse, emit, kernels_print_on_stderr, stdout

if TYPE_CHECKING:
    from gridstride.judge.proof.prove import ProofTrial

_TEMPLATE = Path(__file__).parent.parent / "judge" / "template"
_KEYWORDS = frozenset(
    """
    alignas alignof auto bool case catch char const constexpr decltype default delete do double enum explicit
    extern float friend goto inline int long mutable namespace new operator private protected public register
    short signed sizeof static struct switch template this throw typedef typename union unsigned using virtual
    void volatile
""".split()
)
"""Words that are no name of a function in CUDA C++, where Python has them free."""


def run(action: str, what: str, **options: Any) -> bool:
    """One of the actions by its name."""
    actions: dict[str, Callable[..., bool]] = {"new": new, "show": show, "prove": prove}
    return actions[action](what, **options)


def show(problem: str, *, starter: bool, as_json: bool) -> bool:
    """Print the statement of a problem, or only a file to start from."""
    import_the_judge()
    from gridstride.commands.text.problem_text import lines, statement

    folder = folder_of(problem)
    if as_json:
        emit(statement(folder))
        return True
    from gridstride.judge.starter import starter as file_for

    with problem_errors():
        for line in [file_for(folder.problem)] if starter else lines(folder):
            sys.stdout.write(f"{line}\n")
    return True


def new(name: str, *, folder: str | None, as_json: bool) -> bool:
    """Write a problem that works, to be changed into one's own."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise WrongUse(f"{name!r} is no name for a problem: use lower-case letters, digits and _, a letter first")
    if keyword.iskeyword(name) or name in _KEYWORDS:
        raise WrongUse(
            f"{name!r} is a keyword of {'Python' if keyword.iskeyword(name) else 'C++'}: choose another name"
        )
    from gridstride.judge.find import problem_names

    if name in problem_names():
        raise WrongUse(f"{name} is a problem that comes with GridStride: choose another name, or it would hide yours")
    target = Path(folder or ".") / name
    if target.exists():
        raise WrongUse(f"{target} is there already: choose another name, or another folder with --in")
    try:
        written = _write(target, name)
    except OSError as error:
        raise WrongUse(f"{target} cannot be written: {error.strerror}") from error
    if as_json:
        emit({"problem": name, "folder": str(target), "files": written})
        return True
    console = stdout()
    for file in written:
        console.print(f"wrote {target / file}")
    console.print(f"\nSay what it computes in {target / 'problem.py'}, then:  gridstride problem prove {target}")
    return True


def _write(target: Path, name: str) -> list[str]:
    files = sorted(path for path in _TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    written = []
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as room:  # all of it appears, or nothing
        package = Path(room) / name
        for file in files:
            inside = file.relative_to(_TEMPLATE)
            path = package / (inside.with_suffix("") if inside.suffix == ".template" else inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.read_text().replace("NAME", name))
            written.append(str(path.relative_to(package)))
        package.rename(target)
    return written


def prove(problem: str, *, device: str | None, chip: str | None, as_json: bool) -> bool:
    """Show every trial, and say whether the problem may judge."""
    import_the_judge()
    from gridstride.judge.proof.prove import prove as trials_of

    folder, chosen = folder_of(problem), device_of(device, chip)
    with problem_errors(), kernels_print_on_stderr(), ProgressDisplay(_steps(folder)) as progress:
        trials = list(trials_of(folder, device=chosen, progress=progress.step))
    held = all(trial.held for trial in trials)
    if as_json:
        emit({"problem": folder.problem.name, "verdict": "pass" if held else "fail",
              "trials": [trial.json() for trial in trials]})  # fmt: skip
    else:
        _show(trials, folder.problem.name, where(chosen))
    return held


def _steps(folder: Any) -> int:
    from gridstride.judge.proof.imposters import imposters

    kernels = [*folder.path.glob("rungs/*.cu"), *folder.path.glob("wrong/*.cu")]  # some may have no header to read
    return 1 + len(list(imposters(folder.problem))) + len(kernels)


def _show(trials: list[ProofTrial], name: str, device: str) -> None:
    console = stdout()
    width = max(len(trial.name) for trial in trials)
    for trial in trials:
        outcome = "passes" if trial.passed else "is rejected"
        console.print(f"{'ok  ' if trial.held else 'FAIL'}  {trial.name:{width}}  {outcome}: {trial.reason}",
                      style=None if trial.held else "bold red")  # fmt: skip
    failed = sum(not trial.held for trial in trials)
    console.print()
    if failed:
        console.print(f"{name} must not judge yet: {failed} of {len(trials)} trials went wrong.", style="bold red")
    else:
        console.print(f"{name} can judge: {len(trials)} trials on {device}, right told from wrong in each.",
                      style="green")  # fmt: skip
