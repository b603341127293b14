"""What an executable that was linked here becomes (`start.c`): the process of a program, with the file as its library.

`GRIDSTRIDE_PROGRAM` has the settings, which `gridstride env` writes.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, fields

from gridstride.programs.process import child
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.run import Settings
from gridstride.programs.toolchain.runtime_library import SONAME, runtime_library
from gridstride.programs.toolchain.wheels import toolchain

SETTINGS = "GRIDSTRIDE_PROGRAM"
CUDA11 = "GRIDSTRIDE_CUDA11"
"""Is 1 where the compilers are to find what later releases dropped (`toolchain.old_headers`)."""


def settings_text(settings: Settings) -> str:
    """As the variable has it: what is other than a program's usual settings."""
    usual = asdict(Settings())
    return json.dumps({name: value for name, value in asdict(settings).items() if value != usual[name]})


def settings_of(text: str) -> Settings:
    """ProgramError for a text that `settings_text` has not written."""
    try:
        values = json.loads(text or "{}")
        field_names = {field.name for field in fields(Settings)}
        if not isinstance(values, dict) or not values.keys() <= field_names:
            raise ValueError
        return Settings(**values)
    except ValueError:
        raise ProgramError(f"{SETTINGS}={text} is not what gridstride env writes: eval it again") from None


def main(program: str, arguments: list[str]) -> None:
    """This process goes on as the program's; `arguments` begin with the name it was called by. Never comes back."""
    try:
        settings, tools = settings_of(os.environ.get(SETTINGS, "")), toolchain()
        library = runtime_library(tools, progress=lambda line: print(line, file=sys.stderr))
    except ProgramError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(child.CANNOT_START)
    descriptor = os.memfd_create(SONAME, 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(library)
    runtime = f"/proc/self/fd/{descriptor}"
    child.main(settings.order(tools, arguments, program=program, runtime=runtime, reports=None))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
