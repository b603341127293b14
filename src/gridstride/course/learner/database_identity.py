"""Whose database a file is, and whether it has the tables of its version: looked at before anything is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

APPLICATION_ID = 0x47725374  # "GrSt"
_Tables = Mapping[str, frozenset[str]]  # their columns' names


class NotUsable(sqlite3.DatabaseError):
    """A database that is not to be written; `kind` is the word under which it is kept aside."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def version_of(database: sqlite3.Connection, migrations: Sequence[str]) -> int:
    """The version that its tables have reached, 0 where it is empty; NotUsable. A later version than is known is given
    as it is.
    """
    number, version = (_pragma(database, name) for name in ("application_id", "user_version"))
    known_tables = tables_of(migrations)
    names = _names(database)
    if number not in (0, APPLICATION_ID) or (number == 0 and not names <= known_tables.keys()):
        raise NotUsable("foreign", "is another program's database")
    if not names and number == version == 0:
        return 0
    if version <= 0:
        raise NotUsable("incomplete", f"is incomplete: the version of its tables is {version}")
    expected = known_tables if version >= len(migrations) else tables_of(migrations[:version])
    present = {name: _columns(database, name) for name in names & expected.keys()}
    if missing := _missing(expected, present):
        raise NotUsable("incomplete", f"is incomplete: {missing}")
    return version


def is_marked(database: sqlite3.Connection) -> bool:
    """Whether it says that it is ours; those of earlier versions are known by their tables alone."""
    return _pragma(database, "application_id") == APPLICATION_ID


def tables_of(migrations: Sequence[str]) -> _Tables:
    """What these steps make of an empty database."""
    database = sqlite3.connect(":memory:")
    try:
        for step in migrations:
            database.executescript(step)
        return {name: _columns(database, name) for name in _names(database)}
    finally:
        database.close()


def _missing(expected: _Tables, present: _Tables) -> str:
    """The first table or column that is not there, in words; empty where all are."""
    for table in sorted(expected):
        if table not in present:
            return f"it has no table {table}"
        if columns := sorted(expected[table] - present[table]):
            return f"its table {table} has no column {columns[0]}"
    return ""


def _names(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
    return frozenset(name for (name,) in rows)


def _columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])
