"""A Python program on the virtual GPU, or on this machine's: the interpreter runs it, as `python SCRIPT` does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.python.library_names import library_folder
from gridstride.programs.run import Ended, Settings, run_on_hardware, watched
from gridstride.programs.toolchain.wheels import toolchain

SUFFIX = ".py"
ORDER = "GRIDSTRIDE_PYTHON_PROGRAM"
"""The variable by which python/start/sitecustomize.py knows what to begin."""
_START = Path(__file__).parent / "start"


def is_script(words: Sequence[str]) -> bool:
    """Whether what is to be run is a Python program; ProgramError where it is one and something else."""
    scripts = [word for word in words if Path(word).suffix == SUFFIX]
    if scripts and len(words) > 1:
        raise ProgramError(
            f"{scripts[0]} is a Python program, and is run alone: its own arguments go behind --, as in "
            f"gridstride run {scripts[0]} -- 1000"
        )
    return bool(scripts)


def check_script(script: str) -> None:
    """ProgramError for a script that cannot be run."""
    if not Path(script).exists():
        raise ProgramError(f"there is no file {script}")
    if not Path(script).is_file():
        raise ProgramError(f"{script} is no file")


def run_script(
    script: str, arguments: Sequence[str], settings: Settings, *, progress: Callable[[str], None]
) -> Ended:  # fmt: skip
    """Runs it to its end; MissingToolchain, BuildFailed, ProgramError."""
    tools = toolchain()
    folder = library_folder(tools, progress=progress)

    def start(reports: int) -> subprocess.Popen[bytes]:
        order = settings.order(tools, (), program=script, runtime=str(folder), reports=reports)
        order |= {"starter": os.getpid(), "source": str(Path(__file__).parents[3])}
        path = os.pathsep.join([str(_START), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": path, ORDER: json.dumps(order)}
        command = [sys.executable, script, *arguments]
        return subprocess.Popen(command, env=environment, pass_fds=(reports,), stdout=settings.stdout)

    return watched(start, settings)


def run_script_on_hardware(
    script: str, arguments: Sequence[str], *, time_limit: float | None, stdout: int | None
) -> Ended:  # fmt: skip
    """The plain interpreter, with this machine's driver."""
    return run_on_hardware([sys.executable, script, *arguments], time_limit=time_limit, stdout=stdout)
