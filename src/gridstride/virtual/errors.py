"""What the virtual GPU raises before anything runs."""

from __future__ import annotations


class UnsupportedInstruction(ValueError):
    """PTX that parses but asks for something the virtual GPU does not have.

    `opcode`, `ptx_line`, `file` and `line` (of the source, where `.loc` says) tell where.
    """

    def __init__(self, message: str, *, opcode: str, ptx_line: int, file: str | None, line: int | None) -> None:
        super().__init__(message)
        self.opcode, self.ptx_line, self.file, self.line = opcode, ptx_line, file, line


class UnsupportedTarget(ValueError):
    """PTX written for a chip that the virtual one is not."""
