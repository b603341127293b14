"""What the words of all commands share: how one is called, and what its exit code says."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from gridstride.commands.terminal import tidy_when_terminated

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
_LEAVE_FOLDERS = ("check", "explain", "course.portfolio", "profile", "course.watch")
"""They have processes with folders of their own."""

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else there.")]
ChipName = Annotated[
    str | None, typer.Option("--chip", metavar="CHIP", help="Which GPU the virtual one is; see `gridstride chips`.")
]
DeviceName = Annotated[
    str | None, typer.Option("--device", metavar="virtual|physical", help="Where to run; the GPU where there is one.")
]
Cuda11 = Annotated[
    bool, typer.Option("--cuda11", help="Of .cu files: what later CUDA dropped, texture references among it.")
]


def call(command: str, *args: Any, **options: Any) -> int:
    """Run `gridstride.commands.COMMAND`, imported only now, and give its exit code."""
    try:
        with tidy_when_terminated() if command in _LEAVE_FOLDERS else nullcontext():
            passed: bool | int = importlib.import_module(f"gridstride.commands.{command}").run(*args, **options)
    except KeyboardInterrupt:  # here, as typer's versions make different things of it
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if not isinstance(passed, bool):  # the status of a program that was run
        return passed
    return 0 if passed else FAILED
