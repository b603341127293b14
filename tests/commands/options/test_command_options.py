"""The words of the command line, as the installed typer makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import typer.main

from gridstride import cli
from gridstride.commands.options import (
    onnx_options,
    profile_options,
    program_options,
    serve_words,
    shared_options,
    stack_options,
)
from gridstride.serve.engine.sampling import COMMAND_OPTIONS

HOMES = [Path(str(module.__file__)) for module in (
    cli, onnx_options, profile_options, program_options, stack_options, serve_words, shared_options,
)]  # fmt: skip


def options(group: Any, path: str = "gridstride") -> Iterator[tuple[str, str]]:
    """(command, option) of all commands below; by attributes, as typer's classes have moved between its versions."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from options(command, f"{path} {name}")
            continue
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield from ((f"{path} {name}", option) for option in (*parameter.opts, *parameter.secondary_opts))


def test_long_options_are_lower_case() -> None:
    found = [(command, option) for command, option in options(typer.main.get_command(cli.app))]
    assert ("gridstride serve", "--port") in found
    assert ("gridstride serve", "--host") in found
    assert [(command, option) for command, option in found if option.startswith("--") and not option.islower()] == []


@pytest.mark.parametrize("command", ["generate", "chat"])
def test_sampling_options_are_those_of_the_table(command: str) -> None:
    found = [option for of, option in options(typer.main.get_command(cli.app)) if of == f"gridstride {command}"]
    wanted = [f"--{name.replace('_', '-')}" for name in COMMAND_OPTIONS]
    assert [option for option in found if option in wanted] == wanted
    assert {"--temperature", "--top-p", "--max-tokens", "--seed"} <= set(wanted)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.stem)
def test_every_option_is_named(home: Path) -> None:
    """Typer 0.27 takes the metavar for the name where none is given, so that --port came out as --PORT."""
    calls = [node for node in ast.walk(ast.parse(home.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if ast.unparse(call.func) == "typer.Option"]
    assert made
    assert [ast.unparse(call) for call in made if not _named(call)] == []


def _named(call: ast.Call) -> bool:
    texts = [word.values[0] if isinstance(word, ast.JoinedStr) else word for word in call.args]
    return any(isinstance(text, ast.Constant) and str(text.value).startswith("-") for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    size: Annotated[int, typer.Option("--size", metavar="N")] = 1
    colours: Annotated[tuple[str, ...], typer.Option("--colour", metavar="C")] = ()


def test_a_records_fields_are_options() -> None:
    seen: list[tuple[str, Box]] = []
    app = typer.Typer(add_completion=False)

    @app.command()
    @shared_options.record_options
    def paint(what: str, *, box: Box, quick: bool = False) -> int:
        seen.append((what, box))
        return 0

    command = typer.main.get_command(app)
    assert [parameter.name for parameter in command.params] == ["what", "size", "colours", "quick"]
    command(["wall"], standalone_mode=False)
    command(["door", "--size", "2", "--colour", "red", "--colour", "blue"], standalone_mode=False)
    assert seen == [("wall", Box()), ("door", Box(size=2, colours=("red", "blue")))]
