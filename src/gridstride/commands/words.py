"""What the words of all commands share: how one is called, and what its exit code says."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else there.")]


def call(command: str, *args: Any, **options: Any) -> int:
    """Run `gridstride.commands.COMMAND`, imported only now, and give its exit code."""
    try:
        passed: bool = importlib.import_module(f"gridstride.commands.{command}").run(*args, **options)
    except KeyboardInterrupt:  # here, as typer's versions make different things of it
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0 if passed else FAILED
