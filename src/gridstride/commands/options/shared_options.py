"""What the words of all commands share: how one is called, and what its exit code says."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

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


def record_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command, in place of each parameter that is a record, an option for each field of the record.

    A field is annotated as typer has it, `Annotated[str | None, typer.Option(…)]`; one that is a tuple is repeatable.
    """
    signature = inspect.signature(command, eval_str=True)
    own = {name: p.replace(kind=p.KEYWORD_ONLY) if p.kind is p.POSITIONAL_OR_KEYWORD else p
           for name, p in signature.parameters.items()}  # fmt: skip
    records = {name: _options_of(p.annotation) for name, p in own.items() if is_dataclass(p.annotation)}

    @functools.wraps(command)
    def parsed(**words: Any) -> int:
        for name, options in records.items():
            values = {option.name: words.pop(option.name) for option in options}
            words[name] = own[name].annotation(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})
        return command(**words)

    shown = [option for name, p in own.items() for option in records.get(name, [p])]
    parsed.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return parsed


def _options_of(record: Any) -> list[inspect.Parameter]:
    options = []
    for name, annotation in get_type_hints(record, include_extras=True).items():
        default = record.__dataclass_fields__[name].default
        kind, *words = get_args(annotation)
        if get_origin(kind) is tuple:
            annotation, default = Annotated[(list[str], *words)], list(default)
        options.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    return options


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
