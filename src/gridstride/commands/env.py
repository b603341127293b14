"""`gridstride env`: what a shell, or one command, needs for a project's own build to use our compilers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from gridstride.commands.run import check_gpus, chip_of, memory_of
from gridstride.commands.terminal import WrongUse, emit, print_stderr
from gridstride.programs.environment.folder import exports, variables
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.run import Settings

if TYPE_CHECKING:
    from gridstride.commands.options.program_options import EnvironmentOptions

NOT_FOUND = 127
"""Exit status where there is no such command, as a shell has it."""


def run(words: Sequence[str], command: Sequence[str], how: EnvironmentOptions, *, as_json: bool) -> int:
    """Without a command, prints assignments for `eval`; with one, becomes it. `words` stand before the --."""
    if words:
        raise WrongUse(f"a command goes behind --, as in gridstride env -- {' '.join(words)}")
    check_gpus(how.gpus)
    model = chip_of(None, how.chip)
    nbytes = memory_of(how.memory, model)
    settings = Settings(model.key, how.sanitize, late=how.late, gpus=how.gpus, memory=nbytes)
    if command and as_json:
        raise WrongUse("--json prints the variables, and a command prints what it likes: give one of them")
    try:
        values = variables(settings, cuda11=how.cuda11)
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    if command:
        _become(command, values)
    if as_json:
        emit(values)
        return 0
    sys.stdout.write(exports(values))
    if sys.stdout.isatty():
        print_stderr('in a shell: eval "$(gridstride env)", then make or cmake; or gridstride env -- make')
    return 0


def _become(command: Sequence[str], values: dict[str, str]) -> NoReturn:
    environment = {**os.environ, **values}
    try:
        os.execvpe(command[0], list(command), environment)
    except FileNotFoundError:
        print_stderr(f"error: there is no command {command[0]}")
        sys.exit(NOT_FOUND)
    except OSError as error:
        raise WrongUse(f"{command[0]} cannot be run: {error.strerror}") from None
