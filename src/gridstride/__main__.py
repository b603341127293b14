"""`gridstride`, and `python -m gridstride`."""

from __future__ import annotations

import os
import sys

from gridstride import ONE_BLAS_THREAD


def main() -> None:
    """The command line; what a command needs of another process begins to load before the command is read."""
    os.environ.setdefault(*ONE_BLAS_THREAD)
    if sys.argv[1:2] == ["run"]:
        from gridstride.programs.process import early_process

        early_process.begin(sys.argv[1:])
    from gridstride.cli import main as command

    command()


if __name__ == "__main__":
    main()
