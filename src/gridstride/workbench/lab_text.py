"""The learner's file of a lab as an editor has it open, while other programs may write it too."""

from __future__ import annotations

from gridstride.course.course_errors import ProgressError
from gridstride.course.labs.source_file import NoSource, read_text
from gridstride.course.learner.workspace import prepare_lab
from gridstride.course.lesson import Day
from gridstride.workbench.jobs import MOST_CHARACTERS


class ChangedElsewhere(RuntimeError):
    """Another program has written the file since it was read, and the editor holds another text."""


class LabText:
    """The file's text as it was last read or written here; ProgressError where the file cannot be used. What is no
    UTF-8 text is not opened: saved again, its bytes would be lost.
    """

    def __init__(self, day: Day) -> None:
        self.path, _ = prepare_lab(day)
        self.text = self._read()

    def changed(self) -> str | None:
        """The text that another program has written; None where there is none."""
        text = self._read()
        return text if text != self.text else None

    def reload(self) -> str:
        """Take the file's text."""
        self.text = self._read()
        return self.text

    def save(self, text: str, *, over: bool = False) -> None:
        """Write the text, whole or not at all; ChangedElsewhere unless `over` says that this one counts."""
        from gridstride.judge.report.save import save

        self._check(text)
        on_disk = self._read()
        if not over and on_disk not in (self.text, text):
            raise ChangedElsewhere(f"{self.path} was changed by another program or window")
        if on_disk != text:
            try:
                save(self.path, text)
            except OSError as error:
                raise ProgressError(f"{self.path} cannot be written: {error.strerror}") from error
        self.text = text

    def _read(self) -> str:
        try:
            text = read_text(self.path)
        except NoSource as error:
            raise ProgressError(str(error)) from error
        except OSError as error:
            raise ProgressError(f"{self.path} cannot be read: {error.strerror}") from error
        self._check(text)
        return text

    def _check(self, text: str) -> None:
        """ProgressError for a text that would not be opened again: too long to be judged here, or binary."""
        if len(text) > MOST_CHARACTERS:
            raise ProgressError(
                f"{self.path}: {len(text):,} characters, and at most {MOST_CHARACTERS:,} are opened and judged here"
            )
        if "\0" in text:
            raise ProgressError(f"{self.path}: a source has no character with the number 0")
