"""Whose database a file is, before anything is written to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from gridstride.course.learner.database_identity import APPLICATION_ID, NotUsable, is_marked, tables_of, version_of

STEPS = ("CREATE TABLE run (at, day)", "ALTER TABLE run ADD COLUMN chip; CREATE TABLE hint (day)")


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


def reached(database: sqlite3.Connection, steps: int, version: int, number: int = APPLICATION_ID) -> int:
    for step in STEPS[:steps]:
        database.executescript(step)
    database.execute(f"PRAGMA user_version = {version}")
    database.execute(f"PRAGMA application_id = {number}")
    return version_of(database, STEPS)


def test_the_tables_that_steps_make() -> None:
    assert tables_of(STEPS) == {"run": {"at", "day", "chip"}, "hint": {"day"}}


def test_an_empty_one_is_of_no_version_yet(database: sqlite3.Connection) -> None:
    assert version_of(database, STEPS) == 0
    assert not is_marked(database)


@pytest.mark.parametrize(("steps", "version"), [(1, 1), (2, 2), (2, 7)])
def test_one_of_ours(database: sqlite3.Connection, steps: int, version: int) -> None:
    assert reached(database, steps, version) == version
    assert is_marked(database)


def test_one_of_an_early_version_is_known_by_its_tables_alone(database: sqlite3.Connection) -> None:
    assert reached(database, 1, 1, number=0) == 1


def test_another_program_s(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE notes (text)")
    with pytest.raises(NotUsable, match="another program's") as caught:
        version_of(database, STEPS)
    assert caught.value.kind == "foreign"


@pytest.mark.parametrize(
    ("steps", "version", "why"),
    [(1, 2, "it has no table hint"), (0, 1, "it has no table run"), (1, 0, "the version of its tables is 0")],
)
def test_an_incomplete_one(database: sqlite3.Connection, steps: int, version: int, why: str) -> None:
    with pytest.raises(NotUsable, match=why) as caught:
        reached(database, steps, version)
    assert caught.value.kind == "incomplete"
