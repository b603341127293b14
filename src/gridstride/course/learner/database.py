"""The SQLite file that keeps what a learner has done: opened, brought up to date, written in transactions.

Each record is a transaction of its own, in write-ahead logging: a process that is killed, or two that write at once,
lose nothing that was recorded.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.database_identity import APPLICATION_ID, NotUsable, is_marked, version_of
from gridstride.course.learner.schema import MIGRATIONS
from gridstride.course.learner.workspace import VARIABLE, make_folder

_WAIT = 10.0  # seconds for another process to end its transaction, which takes milliseconds
_AGAIN = 0.02  # seconds between two attempts to open it
_SIDE_FILES = ("", "-wal", "-shm")  # what belongs to one database
_PRIVATE = 0o600
_ELSEWHERE = f"set {VARIABLE} to another folder; nothing was changed"
_LEAST_FREE = 1 << 16  # bytes on a disk that is not full: its shared memory takes 32 KiB


class Database(ClosedAtEnd):
    """The file at `path`, made where there is none; ProgressError where it cannot be used.

    A file that is no database, a damaged one, one that lacks tables, or another program's is kept aside under another
    name, and `say` is told. Nobody but its owner can read it: it has the password's hash.
    """

    def __init__(
        self, path: Path, *, say: Callable[[str], None] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC), wait: float = _WAIT,
    ) -> None:  # fmt: skip
        self.path, self._now, self._wait = path, now, wait
        make_folder(path.parent)
        try:
            self._database = self._opened_or_recreated(say)
        except OSError as error:
            raise ProgressError(f"{path} cannot be used: {error.strerror}; {_ELSEWHERE}") from error
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def now(self) -> str:
        """This moment, as rows have it."""
        return self._now().astimezone(UTC).isoformat(timespec="milliseconds")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that nobody else writes in; undone where it fails. One inside another is part of it."""
        if self._database.in_transaction:
            yield self._database
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            with _committed(self._database):
                yield self._database
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def read(self, words: str, *values: Any) -> list[Any]:
        """The rows of a query; ProgressError."""
        try:
            return self._database.execute(words, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _opened_or_recreated(self, say: Callable[[str], None]) -> sqlite3.Connection:
        try:
            return self._opened()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            with _exclusive(self.path):  # or a second process would put the new file of the first one aside
                try:
                    return self._opened()
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    kind = error.kind if isinstance(error, NotUsable) else "damaged"
                    why = str(error) if isinstance(error, NotUsable) else f"is damaged ({error})"
                    aside = _set_aside(self.path, kind, self._now())
                    say(f"{self.path} {why}: it is kept as {aside}, and a new one is begun")
                    return self._opened()

    def _opened(self) -> sqlite3.Connection:
        """The database; tried again while another process makes it, as SQLite itself does not wait for that."""
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self._opened_once()
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_AGAIN)

    def _opened_once(self) -> sqlite3.Connection:
        _make_private(self.path)
        database = sqlite3.connect(self.path, timeout=self._wait, isolation_level=None)
        try:
            self._schema_version(database)
            _check(database)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            self._migrate(database)
        except BaseException:
            database.close()
            raise
        return database

    def _migrate(self, database: sqlite3.Connection) -> None:
        """Take the tables to the newest version, all steps or none, and mark the file as ours."""
        if self._schema_version(database) == len(MIGRATIONS) and is_marked(database):
            return
        database.execute("BEGIN IMMEDIATE")
        with _committed(database):
            for step in MIGRATIONS[self._schema_version(database) :]:  # another process may have done it meanwhile
                for statement in filter(str.strip, step.split(";")):
                    database.execute(statement)
            database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _schema_version(self, database: sqlite3.Connection) -> int:
        """Which version its tables have; NotUsable, and ProgressError for a later one than is known here."""
        if (version := version_of(database, MIGRATIONS)) > len(MIGRATIONS):
            raise ProgressError(
                f"{self.path} was written by a later GridStride (version {version} of its tables, {len(MIGRATIONS)} "
                "are known here): upgrade with pip install --upgrade gridstride; nothing was changed"
            )
        return version

    def _unusable(self, error: sqlite3.Error) -> ProgressError:
        if _is_busy(error):
            return ProgressError(
                f"{self.path} is locked by another program for more than {self._wait:g} s: close what holds it and try "
                "again; nothing was changed"
            )
        if _is_full(error, self.path.parent):
            return ProgressError(f"{self.path} cannot be written: its disk is full: make room on it, or {_ELSEWHERE}")
        return ProgressError(
            f"{self.path} cannot be used ({error}): see whether its folder can be written and its disk has room, or "
            f"{_ELSEWHERE}"
        )


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_full(error: sqlite3.Error, folder: Path) -> bool:
    """Whether there is no room; SQLite says I/O error where its shared memory found none."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_IOERR"):
        with contextlib.suppress(OSError):
            return shutil.disk_usage(folder).free < _LEAST_FREE
    return name == "SQLITE_FULL"


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Inside, no other process is here for the same file."""
    with Path(f"{path}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check(database: sqlite3.Connection) -> None:
    status = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if status != "ok":
        raise sqlite3.DatabaseError(status)


@contextmanager
def _committed(database: sqlite3.Connection) -> Iterator[None]:
    """Inside is the rest of a transaction that was begun, undone where it fails."""
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # where the disk is full, SQLite has undone it by itself
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
        raise


def _make_private(path: Path) -> None:
    """Have the file, which only its owner may read; OSError. SQLite gives its side files the same permissions."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
    if not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is a pipe or a device")
    for suffix in _SIDE_FILES:
        _restrict(Path(f"{path}{suffix}"))


def _restrict(path: Path) -> None:
    """Take a file's permissions from all but its owner, where it is ours to do so."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_mode & ~_PRIVATE & 0o777:
            path.chmod(_PRIVATE)


def _set_aside(path: Path, kind: str, at: datetime) -> Path:
    """Give a database, and what belongs to it, another name that nothing has."""
    base = f"{path.name}.{kind}-{at.astimezone(UTC):%Y%m%dT%H%M%S}"
    number, aside = 0, path.with_name(base)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{base}-{number}")
    for suffix in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside
