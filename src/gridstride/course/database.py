"""The SQLite file that keeps what a learner has done: opened, brought up to date, written in transactions.

Each record is a transaction of its own, in write-ahead logging: a process that is killed, or two that write at once,
lose nothing that was recorded.
"""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gridstride.course.errors import ProgressError
from gridstride.course.schema import MIGRATIONS

_WAIT = 10.0  # seconds for another process to end its transaction, which takes milliseconds
_AGAIN = 0.02  # seconds between two attempts to open it
_SIDE_FILES = ("", "-wal", "-shm")  # what belongs to one database


class Database:
    """The file at `path`, made where there is none; ProgressError where it cannot be used.

    A file that is no database, or a damaged one, is kept aside under another name, and `say` is told.
    """

    def __init__(
        self, path: Path, *, say: Callable[[str], None] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC), wait: float = _WAIT,
    ) -> None:  # fmt: skip
        self.path, self._now, self._wait = path, now, wait
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProgressError(f"{path.parent} cannot be made: {error.strerror}") from error
        try:
            self._database = self._opened_or_begun_anew(say)
        except OSError as error:
            raise ProgressError(f"{path} cannot be used: {error.strerror}; nothing was changed") from error
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

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
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def read(self, words: str, *values: Any) -> list[Any]:
        """The rows of a query; ProgressError."""
        try:
            return self._database.execute(words, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _opened_or_begun_anew(self, say: Callable[[str], None]) -> sqlite3.Connection:
        try:
            return self._opened()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            with _alone(self.path):  # or a second process would put the new file of the first one aside
                try:
                    return self._opened()
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError as error:
                    aside = _set_aside(self.path, self._now())
                    say(f"{self.path} is damaged ({error}): it is kept as {aside}, and a new one is begun")
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
        database = sqlite3.connect(self.path, timeout=self._wait, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            _check(database)
            _migrate(database, self.path)
        except BaseException:
            database.close()
            raise
        return database

    def _unusable(self, error: sqlite3.Error) -> ProgressError:
        if _is_busy(error):
            return ProgressError(
                f"{self.path} is locked by another program for more than {self._wait:g} s: close what holds it and try "
                "again; nothing was changed"
            )
        return ProgressError(
            f"{self.path} cannot be used ({error}): see whether its folder can be written and its disk has room, or "
            "set GRIDSTRIDE_COURSE to another folder; nothing was changed"
        )


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Inside, no other process is here for the same file."""
    with Path(f"{path}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check(database: sqlite3.Connection) -> None:
    found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def _migrate(database: sqlite3.Connection, path: Path) -> None:
    """Take the tables to the newest version, each step whole or not at all."""
    while (version := _version(database)) != len(MIGRATIONS):
        if version > len(MIGRATIONS):
            raise ProgressError(
                f"{path} was written by a later GridStride (version {version} of its tables, {len(MIGRATIONS)} are "
                "known here): upgrade with pip install --upgrade gridstride; nothing was changed"
            )
        database.execute("BEGIN IMMEDIATE")
        try:
            if _version(database) == version:  # no other process has done it meanwhile
                for statement in filter(str.strip, MIGRATIONS[version].split(";")):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {version + 1}")
            database.execute("COMMIT")
        except BaseException:
            database.execute("ROLLBACK")
            raise


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _set_aside(path: Path, at: datetime) -> Path:
    """Give a damaged database, and what belongs to it, another name that nothing has."""
    base = f"{path.name}.damaged-{at.astimezone(UTC):%Y%m%dT%H%M%S}"
    number, aside = 0, path.with_name(base)
    while aside.exists():
        number += 1
        aside = path.with_name(f"{base}-{number}")
    for suffix in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside
