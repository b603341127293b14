"""`gridstride export`: a judged kernel as a PyTorch extension of its own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.target import folder_of, import_the_judge, problem_errors
from gridstride.commands.terminal import WrongUse, emit, kernels_print_on_stderr, print_stderr, stdout

if TYPE_CHECKING:
    from gridstride.judge.find import Folder
    from gridstride.judge.header import KernelFile


def run(problem: str, *, kernel: str | None, name: str | None, folder: str | None, wheel: bool, as_json: bool) -> bool:
    """Write the folder, and build its wheel where one is asked for."""
    import_the_judge()
    from gridstride.export.package import package, write
    from gridstride.export.wheel import build, installed_compilers, torch_folder

    ladder = folder_of(problem)
    with problem_errors(), kernels_print_on_stderr():
        chosen = _kernel(kernel, ladder)
        if kernel is not None and Path(kernel).is_file() and not _passes(kernel, ladder):
            return False
    with _export_errors(), kernels_print_on_stderr():
        tools = (torch_folder(), installed_compilers()) if wheel else None  # before anything is written
        exported = package(ladder, chosen, name)
        target = Path(folder or ".") / exported.name
        files = write(exported, target)
        built = build(exported, target, *tools) if tools is not None else None
    gradients = {gradient.name: gradient.backward for gradient in exported.gradients}
    if as_json:
        emit({"package": exported.name, "folder": str(target), "files": files, "kernel": chosen.name,
              "ops": [op.name for op in exported.ops], "gradients": gradients, "wheel": str(built or "")})  # fmt: skip
        return True
    console = stdout()
    for file in files:
        console.print(f"wrote {target / file}")
    for op, backward in gradients.items():
        console.print(f"\nThe gradient of {op} is {backward}, the last rung of its own ladder.")
    if built is not None:
        console.print(f"\nbuilt {built}\n\nInstall it with:  pip install {_shell_path(built)}")
    else:
        console.print(f"\nBuild and install it with:  pip install --no-build-isolation {_shell_path(target)}")
    return True


def _shell_path(path: Path) -> str:
    """As a shell takes it; with ./ in front, since pip looks up a bare word on the index."""
    text = str(path)
    return shlex.quote(text if text.startswith((".", os.sep)) else f".{os.sep}{text}")


def _kernel(rung: str | None, folder: Folder) -> KernelFile:
    """A file, a rung by name or number, or the last rung."""
    from gridstride.judge.submission import submission

    if rung is not None and Path(rung).is_file():
        return submission(rung)
    if not folder.rungs():
        raise WrongUse(f"{folder.problem.name} has no rungs: name a file with --kernel")
    return folder.rungs((rung,) if rung is not None else ())[-1]


def _passes(file: str, folder: Folder) -> bool:
    """Whether the judge passes a user's own file: another one is not exported."""
    from gridstride.judge.submission import check

    verdict = check(file, folder, device="virtual")
    if verdict.verdict == "pass":
        return True
    problem = folder.problem.name
    first = f": {verdict.findings[0].message}" if verdict.findings else ""
    print_stderr(f"{file} is not exported, it does not pass {problem}{first}\n"
                 f"Try:  gridstride check {file} --problem {problem}")  # fmt: skip
    return False


@contextmanager
def _export_errors() -> Iterator[None]:
    from gridstride.export.export_errors import ExportError

    try:
        yield
    except ExportError as error:
        raise WrongUse(str(error)) from error
