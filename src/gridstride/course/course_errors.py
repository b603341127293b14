"""What can be wrong with a lesson, and with the file that keeps a learner's progress."""

from __future__ import annotations

from pathlib import Path

from gridstride.one_message import OneMessage


class LessonError(OneMessage, ValueError):
    """A mistake in a lesson's files, with file and line."""

    def __init__(self, file: Path, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.file, self.line, self.message = file, line, message


class NoSuchDay(OneMessage, LookupError):
    """A day that the course does not have; the message names those that it has."""


class ProgressError(OneMessage, RuntimeError):
    """Progress that cannot be read or written; the message says why and what to do. Nothing was overwritten."""
