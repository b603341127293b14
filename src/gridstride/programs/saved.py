"""A built program as files: a script that runs it, with its shared object and the runtime library beside it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.run import Built, Settings, become
from gridstride.programs.toolchain.runtime_library import SONAME
from gridstride.programs.toolchain.wheels import toolchain

_SCRIPT = """#!{python}
# Runs {name}.so on the virtual GPU. Made by `gridstride build`.
from gridstride.programs.saved import main
main(__file__, {settings!r})
"""


def save(built: Built, target: Path, *, chip: str) -> list[Path]:
    """Write the files; ProgramError where they cannot be written."""
    settings = json.dumps({"chip": chip})
    files = {
        target: _SCRIPT.format(python=sys.executable, name=target.name, settings=settings).encode(),
        target.with_name(f"{target.name}.so"): built.program,
        target.with_name(f"{target.name}.{SONAME}"): built.runtime,
    }
    try:
        for path, data in files.items():
            path.write_bytes(data)
        target.chmod(0o755)
    except OSError as error:
        raise ProgramError(f"{error.filename} cannot be written: {error.strerror}") from None
    return list(files)


def main(script: str, settings: str) -> NoReturn:
    """What a script does: it becomes the program."""
    target = Path(os.path.realpath(script))
    parts = [target.with_name(f"{target.name}.{ending}") for ending in ("so", SONAME)]
    missing = [path for path in parts if not path.is_file()]
    if missing:
        sys.stderr.write(f"error: {missing[0]} is not there: it belongs beside {target.name} (gridstride build)\n")
        sys.exit(1)
    program, runtime = (path.read_bytes() for path in parts)
    become(Built(program, runtime, toolchain()), [script, *sys.argv[1:]], Settings(**json.loads(settings)))
