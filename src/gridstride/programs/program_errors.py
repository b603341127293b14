"""What keeps a program from running."""

from __future__ import annotations

from gridstride.one_message import OneMessage


class ProgramError(OneMessage, Exception):
    """Something about the program or the words it was started with; the message names it and the way out."""


class MissingToolchain(ProgramError):
    """Compilers that are not installed; the message has the command that installs them."""


class BuildFailed(ProgramError):
    """The program does not compile or link; `output` is what the compilers said, file and line included."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output
