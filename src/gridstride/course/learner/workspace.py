"""The learner's own folder: GRIDSTRIDE_COURSE, or gridstride-course in the home folder. It outlives upgrades."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from gridstride.course.course_errors import ProgressError
from gridstride.course.lesson import Day

VARIABLE = "GRIDSTRIDE_COURSE"


def workspace() -> Path:
    """The folder; it may not be there yet. ProgressError for a name that no line of a message can have."""
    folder = Path(os.environ.get(VARIABLE) or Path.home() / "gridstride-course").expanduser()
    if not str(folder).isprintable():
        raise ProgressError(
            f"the course's folder cannot be {str(folder)!r}: set {VARIABLE} to one whose name is a line of UTF-8 text"
        )
    return folder


def make_folder(folder: Path) -> None:
    """Make it where there is none; ProgressError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is there, and no folder" if isinstance(error, FileExistsError) else error.strerror
        raise ProgressError(
            f"the course's folder {folder} cannot be made: {why}; set {VARIABLE} to a folder of yours"
        ) from error


def progress_file() -> Path:
    """The database of progress in it."""
    return workspace() / "progress.sqlite"


def prepare_worked(day: Day) -> Path | None:
    """The lesson's own programs and kernels, copied beside the lab where they are not there yet; never overwritten."""
    target = lab_path(day).parent / "worked"
    try:
        for source in sorted((day.folder / "worked").glob("*.*")):
            target.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError), (target / source.name).open("xb") as copy:
                copy.write(source.read_bytes())
    except OSError as error:
        raise _cannot_be_written(target, error) from error
    return target if target.is_dir() else None


def lab_path(day: Day) -> Path:
    """The learner's file of a day."""
    return workspace() / day.name / day.lab.file


def prepare_lab(day: Day) -> tuple[Path, bool]:
    """The learner's file, copied from starter/ where there is none yet, and whether it was; never overwritten."""
    target = lab_path(day)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with day.starter.open("rb") as source, target.open("xb") as copy:
            shutil.copyfileobj(source, copy)
    except FileExistsError:
        return target, False
    except OSError as error:
        raise _cannot_be_written(target, error) from error
    return target, True


def _cannot_be_written(target: Path, error: OSError) -> ProgressError:
    return ProgressError(f"{target} cannot be written: {error.strerror}; set {VARIABLE} to another folder")
