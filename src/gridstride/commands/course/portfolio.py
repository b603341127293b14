"""`gridstride portfolio`: a website of the labs that have been passed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.commands.course.course_target import opened
from gridstride.commands.target import import_the_judge, problem_errors
from gridstride.commands.terminal import ProgressDisplay as Steps
from gridstride.commands.terminal import WrongUse, emit, print_stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gridstride.course.portfolio.entries import PassedLab, PortfolioRecord
    from gridstride.judge.report.kernel_page import Pictured


def run(*, out: str | None, name: str | None, as_json: bool) -> bool:
    """Write the site and say where it is."""
    from gridstride.course.content import all_days
    from gridstride.course.learner.workspace import workspace
    from gridstride.course.portfolio import entries, pages, site_folder

    if name is not None and not name.strip():
        raise WrongUse("--name needs a name")
    if out is not None and not out.strip():
        raise WrongUse("--out needs a folder")
    today = datetime.now().astimezone().date()
    with opened() as progress:
        folder = Path(out).expanduser() if out is not None else workspace() / site_folder.NAME
        record = entries.record(all_days(), progress, today)
    if not record.entries:
        raise WrongUse(
            "no lab has been passed yet, and a portfolio shows those that are: gridstride learn opens the next day, "
            "gridstride watch judges its lab"
        )
    with _writing(folder):
        site_folder.check(folder, pages.page_names(record))
    with Steps(len(record.entries)) as steps:
        site = pages.render(record, name=(name or "").strip(), today=today, draw=lambda item: _drawn(item, steps))
    with _writing(folder):
        site_folder.write(folder, site)
    _print_missing(record)
    _show(record, folder.absolute() / pages.INDEX, as_json=as_json)
    return True


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Inside, a folder that cannot be written, or holds something else, is wrong usage."""
    from gridstride.course.portfolio.site_folder import FolderRefused

    try:
        yield
    except FolderRefused as error:
        raise WrongUse(str(error)) from error
    except OSError as error:
        raise WrongUse(f"{folder} cannot be written: {error.strerror}; --out names another folder") from error


def _drawn(entry: PassedLab, steps: Steps) -> Sequence[Pictured]:
    """The pictures of a lab, for which its kernel is run again; without them where it cannot be."""
    from gridstride.course.portfolio.access_pictures import access_pictures

    steps.step(f"day {entry.day.number}: {entry.day.lab.title}")
    import_the_judge()
    try:
        with problem_errors():
            return access_pictures(entry)
    except WrongUse as error:
        print_stderr(f"warning: day {entry.day.number} is without a picture: {error}")
        return ()


def _print_missing(record: PortfolioRecord) -> None:
    for entry in record.entries:
        if entry.run.source is None:
            number = entry.day.number
            print_stderr(
                f"warning: the source that passed day {number} was not kept by the GridStride that judged it: "
                f"gridstride watch {number} judges it again and keeps it"
            )


def _show(record: PortfolioRecord, index: Path, *, as_json: bool) -> None:
    if as_json:
        passed = [{"day": entry.day.number, "title": entry.day.title, "file": str(index.parent / entry.page),
                   "source": entry.run.source is not None} for entry in record.entries]  # fmt: skip
        emit({"index": str(index), "days": passed, "written": record.written, "streak": record.streak})
        return
    labs = "1 lab" if len(record.entries) == 1 else f"{len(record.entries)} labs"
    stdout().print(f"{labs} of {record.written} passed: {index}")
