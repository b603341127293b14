"""Problems by name or by folder, and the kernel files that lie beside them."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.judge.cases.case_list import unchanging
from gridstride.judge.header import KernelFile, read_kernel
from gridstride.judge.problem import Problem, ProblemError

_SHIPPED = Path(__file__).resolve().parent.parent / "kernels"


@dataclass(frozen=True, slots=True)
class Folder:
    """A problem with its folder: rungs in climbing order, and kernels that must be rejected. `statement` is what its
    problem.py says at the top.
    """

    path: Path
    problem: Problem
    statement: str = ""

    def rungs(self, names: Sequence[str] = ()) -> tuple[KernelFile, ...]:
        """The rungs, lowest first, or those of these names; HeaderError when a header is wrong, ProblemError when one
        cannot be read or is not there.
        """
        return _named(_kernels(self.path / "rungs"), names)

    def wrong(self) -> tuple[KernelFile, ...]:
        """The kernels that must be rejected."""
        return _kernels(self.path / "wrong")


def _kernels(folder: Path) -> tuple[KernelFile, ...]:
    kernels = []
    for path in sorted(folder.glob("*.cu")):
        try:
            kernels.append(read_kernel(path))
        except OSError as error:
            raise ProblemError(f"{path} cannot be read: {error.strerror}") from error
    return tuple(kernels)


def _named(files: tuple[KernelFile, ...], chosen: Sequence[str]) -> tuple[KernelFile, ...]:
    """The rungs asked for, by name (05_register_tile_2d, register_tile_2d) or number (5, 05)."""
    if not chosen:
        return files
    names: dict[str, KernelFile] = {}
    for file in files:
        number, _, title = file.name.partition("_")
        names |= {file.name: file, number: file, number.lstrip("0"): file, title: file}
    for name in chosen:
        if name not in names:
            raise ProblemError(f"there is no rung {name!r}: {_instead(name, [file.name for file in files])}")
    picked = {names[name].name for name in chosen}
    return tuple(file for file in files if file.name in picked)


def _instead(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def problem_names() -> tuple[str, ...]:
    """The problems that come with GridStride."""
    return tuple(sorted(path.parent.name for path in _SHIPPED.glob("*/problem.py")))


def find(what: str | Path) -> Folder:
    """The problem of a name (`matmul`) or a folder (`./myproblem`); ProblemError says what there is instead.

    A folder's problem.py is Python and is run: give only folders that you trust.
    """
    text = str(what)
    path = Path(text)
    if text in problem_names():
        path = _SHIPPED / text
    elif not (path / "problem.py").is_file():
        raise ProblemError(_missing(text, path))
    problem, statement = _load(path / "problem.py")
    return Folder(path, problem, statement)


def _missing(text: str, path: Path) -> str:
    if path.is_dir():
        return f"{text} is a folder without a problem.py"
    near = difflib.get_close_matches(text, problem_names(), n=1)
    if near:
        return f"there is no problem {text!r}: did you mean {near[0]}? A folder with a problem.py will do too"
    return f"there is no problem {text!r}: there are {', '.join(problem_names())}, or give a folder with a problem.py"


def _load(path: Path) -> tuple[Problem, str]:
    name = f"gridstride_problem_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ProblemError:
        raise
    except (Exception, SystemExit) as error:
        raise ProblemError(f"{path} does not load: {type(error).__name__}: {error}") from error
    problem = getattr(module, "problem", None)
    if not isinstance(problem, Problem):
        raise ProblemError(f"{path} has no `problem = Problem(…)`")
    try:
        same = unchanging(problem)
    except ProblemError:
        raise
    except (Exception, SystemExit) as error:
        raise ProblemError(
            f"problem {problem.name}: its data cannot be made: {type(error).__name__}: {error}"
        ) from error
    if same:
        raise ProblemError(
            f"problem {problem.name}: {same[0]} is the same in every case: who ignores it would pass. Draw "
            "it (arrange may take it from a list by the number that was drawn), or write it into the kernel's text"
        )
    return problem, (module.__doc__ or "").strip()
