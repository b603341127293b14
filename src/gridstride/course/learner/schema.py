"""The tables of progress.sqlite, as the steps from one version to the next; a database says which it has reached."""

from __future__ import annotations

MIGRATIONS = (
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, day INTEGER NOT NULL, passed INTEGER NOT NULL,
        finding TEXT NOT NULL, message TEXT NOT NULL, seconds REAL NOT NULL, measured TEXT NOT NULL
    ) STRICT;
    CREATE INDEX run_of_day ON run (day, id);
    CREATE TABLE answer (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, day INTEGER NOT NULL, question TEXT NOT NULL,
        given TEXT NOT NULL, correct INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX answer_to_question ON answer (day, question, id);
    CREATE TABLE hint (
        day INTEGER NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (day, number)
    ) STRICT;
    CREATE TABLE solution (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, day INTEGER NOT NULL, passed INTEGER NOT NULL
    ) STRICT;
    """,
    # What a portfolio shows of a pass. NULL in the rows from before: neither was kept then.
    """
    ALTER TABLE run ADD COLUMN source TEXT;
    ALTER TABLE run ADD COLUMN cases INTEGER;
    ALTER TABLE run ADD COLUMN chip TEXT;
    """,
    # The workbench's queue. `turn` numbers the jobs as they were begun, `attempts` how often this one was.
    """
    CREATE TABLE job (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, session TEXT NOT NULL, kind TEXT NOT NULL, day INTEGER NOT NULL,
        source TEXT NOT NULL, state TEXT NOT NULL, turn INTEGER, attempts INTEGER NOT NULL, ended TEXT,
        outcome TEXT, report TEXT
    ) STRICT;
    CREATE INDEX job_in_state ON job (state, id);
    CREATE INDEX job_of_day ON job (day, kind, id);
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    """,
)
"""A step that was released is never changed: a new one follows it."""
