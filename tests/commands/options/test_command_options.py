"""The words of the command line, as the installed typer makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from gridstride import cli
from gridstride.commands.options import serve_words, shared_options, stack_options
from gridstride.serve.engine.sampling import COMMAND_OPTIONS

HOMES = [Path(str(module.__file__)) for module in (cli, stack_options, serve_words, shared_options)]


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
