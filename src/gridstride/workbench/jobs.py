"""The queue of runs, in the learner's database: bounded, fair between browser sessions, and there after a kill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gridstride.course.learner.database import Database

Kind = Literal["judge", "explain"]
State = Literal["queued", "running", "done", "failed", "cancelled"]

MOST_WAITING = 100
"""Jobs that may wait, of all sessions."""
MOST_OF_SESSION = 60
"""Jobs that may wait, of one session: one that fills the queue leaves room for others."""
MOST_CHARACTERS = 1 << 18
"""Of a source: a kernel of the course has a few thousand."""
_ATTEMPTS = 3  # after so many the server was ended each time while the job ran: it is not tried again
_KEPT = 200  # jobs that have ended
_KEPT_REPORTS = 12  # a page of some 200 kB each
_COLUMNS = "id, session, kind, day, source, state, attempts, outcome"


class QueueFull(RuntimeError):
    """No room for another job; the message says whose fault it is and what to do."""


class SourceTooLong(ValueError):
    """A text that is no kernel."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run that was asked for. `outcome` is what came of it: a verdict as JSON, or `error` in words."""

    id: int
    session: str
    kind: Kind
    day: int
    source: str
    state: State
    attempts: int
    outcome: Mapping[str, Any]

    @property
    def open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")


class Jobs:
    """The queue in a database; each call is one transaction, and raises ProgressError where it cannot be written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: str, kind: Kind, day: int, source: str) -> Job:
        """A new job at the end of its session's queue; QueueFull, SourceTooLong."""
        assert kind in get_args(Kind)
        if len(source) > MOST_CHARACTERS:
            raise SourceTooLong(f"the file has {len(source):,} characters, and at most {MOST_CHARACTERS:,} are judged")
        with self._database.writing() as database:
            self._check_room(session)
            row = (self._database.now(), session, kind, day, source)
            added = database.execute(
                "INSERT INTO job (at, session, kind, day, source, state, attempts) VALUES (?, ?, ?, ?, ?, 'queued', 0)",
                row,
            )
            return Job(int(added.lastrowid or 0), session, kind, day, source, "queued", 0, {})

    def take(self) -> Job | None:
        """The job that comes next, now running: of the session whose last turn is longest ago, its oldest."""
        with self._database.writing() as database:
            rows = self._database.read(
                f"""SELECT {_COLUMNS} FROM job WHERE state = 'queued' ORDER BY
                    (SELECT coalesce(max(turn), 0) FROM job AS other WHERE other.session = job.session), id LIMIT 1"""
            )
            if not rows:
                return None
            job = _job(rows[0])
            database.execute(
                "UPDATE job SET state = 'running', attempts = attempts + 1, "
                "turn = (SELECT coalesce(max(turn), 0) + 1 FROM job) WHERE id = ?",
                (job.id,),
            )
        return self.get(job.id)

    def end(self, job: int, state: State, outcome: Mapping[str, Any], *, report: str | None = None) -> None:
        """Keep what came of a job; older ones are forgotten."""
        with self._database.writing() as database:
            database.execute(
                "UPDATE job SET state = ?, ended = ?, outcome = ?, report = ? WHERE id = ?",
                (state, self._database.now(), json.dumps(outcome), report, job),
            )
            not_live = "SELECT id FROM job WHERE state NOT IN ('queued', 'running')"
            database.execute(f"DELETE FROM job WHERE id IN ({not_live} ORDER BY id DESC LIMIT -1 OFFSET {_KEPT})")
            reported = f"SELECT id FROM job WHERE report IS NOT NULL ORDER BY id DESC LIMIT -1 OFFSET {_KEPT_REPORTS}"
            database.execute(f"UPDATE job SET report = NULL WHERE id IN ({reported})")

    def cancel(self, job: int) -> bool:
        """Take a job that waits out of the queue; False where it does not wait."""
        with self._database.writing() as database:
            rows = database.execute(
                "UPDATE job SET state = 'cancelled', ended = ? WHERE id = ? AND state = 'queued'",
                (self._database.now(), job),
            )
            return rows.rowcount > 0

    def requeue(self) -> list[Job]:
        """What ran when the server was ended waits again, in its old place; the jobs that do."""
        broken = "the workbench was ended each of the times that this was run: run it again, or see what ends it"
        with self._database.writing() as database:
            database.execute(
                "UPDATE job SET state = 'failed', ended = ?, outcome = ? WHERE state = 'running' AND attempts >= ?",
                (self._database.now(), json.dumps({"error": broken}), _ATTEMPTS),
            )
            database.execute("UPDATE job SET state = 'queued', turn = NULL WHERE state = 'running'")
        return self.waiting()

    def get(self, job: int) -> Job | None:
        """The job of that number."""
        rows = self._database.read(f"SELECT {_COLUMNS} FROM job WHERE id = ?", job)
        return _job(rows[0]) if rows else None

    def waiting(self) -> list[Job]:
        """Those that wait, oldest first."""
        rows = self._database.read(f"SELECT {_COLUMNS} FROM job WHERE state = 'queued' ORDER BY id")
        return [_job(row) for row in rows]

    def latest(self, day: int, kind: Kind) -> Job | None:
        """The newest job of a day."""
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM job WHERE day = ? AND kind = ? ORDER BY id DESC LIMIT 1", day, kind
        )
        return _job(rows[0]) if rows else None

    def report(self, job: int) -> str | None:
        """The page that explains the kernel; None where there is none, or no longer."""
        rows = self._database.read("SELECT report FROM job WHERE id = ?", job)
        return rows[0][0] if rows else None

    def _check_room(self, session: str) -> None:
        own, everybodys = self._database.read(
            "SELECT coalesce(sum(session = ?), 0), count(*) FROM job WHERE state = 'queued'", session
        )[0]
        if own >= MOST_OF_SESSION:
            raise QueueFull(f"{own} of your runs wait already: wait for one to end, or cancel some")
        if everybodys >= MOST_WAITING:
            raise QueueFull(f"{everybodys} runs wait already, which is as many as there may be: try again in a minute")


def _job(row: tuple[Any, ...]) -> Job:
    number, session, kind, day, source, state, attempts, outcome = row
    return Job(number, session, kind, day, source, state, attempts, json.loads(outcome) if outcome else {})
