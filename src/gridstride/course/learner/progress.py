"""What a learner has done: every run, answer, hint and solution looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gridstride.course.labs.lab_verdict import LabVerdict
from gridstride.course.learner.database import Database

_RUN = "at, day, passed, finding, message, seconds, measured, source, cases, chip"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """What a verdict rests on: the first finding, or what was measured of a file that passed."""

    finding: str = ""
    message: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)
    source: str | None = None
    """The text that was judged; None where it did not pass, or was recorded by a version that did not keep it."""
    cases: int | None = None
    chip: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(RunDetails):
    """One verdict on a lab's file."""

    at: datetime
    day: int
    passed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer to a question."""

    at: datetime
    day: int
    question: str
    given: str
    right: bool


class LearnerProgress(Database):
    """The records, each written in a transaction of its own."""

    def record_run(self, day: int, *, passed: bool, seconds: float, details: RunDetails | None = None) -> None:
        """Keep a verdict, with what was found first and what was measured; of a pass also the source that passed."""
        of = details or RunDetails()
        measured = json.dumps(dict(of.measured))
        row = (self.now(), day, passed, of.finding, of.message, seconds, measured, of.source, of.cases, of.chip)
        with self.writing() as database:
            database.execute(f"INSERT INTO run ({_RUN}) VALUES ({', '.join('?' * len(row))})", row)

    def record_verdict(self, verdict: LabVerdict) -> None:
        """Keep a lab's verdict; of a pass also the source."""
        first = verdict.findings[0] if verdict.findings else None
        details = RunDetails(
            finding=first.kind if first else "", message=first.message if first else "", measured=verdict.measured,
            cases=verdict.cases, chip=verdict.chip or None, source=verdict.source if verdict.passed else None,
        )  # fmt: skip
        self.record_run(verdict.day, passed=verdict.passed, seconds=verdict.seconds, details=details)

    def record_answer(self, day: int, question: str, answer: str, *, right: bool) -> None:
        """Keep an answer."""
        with self.writing() as database:
            database.execute(
                "INSERT INTO answer (at, day, question, given, correct) VALUES (?, ?, ?, ?, ?)",
                (self.now(), day, question, answer, right),
            )

    def record_solution(self, day: int, *, passed: bool) -> None:
        """Keep that the solution was looked at, before or after the lab was passed."""
        with self.writing() as database:
            database.execute("INSERT INTO solution (at, day, passed) VALUES (?, ?, ?)", (self.now(), day, passed))

    def next_hint(self, day: int, most: int) -> int:
        """The number of the hint that comes next, recorded; the last one again where there is none."""
        with self.writing() as database:
            hints = int(database.execute("SELECT count(*) FROM hint WHERE day = ?", (day,)).fetchone()[0])
            if hints < most:
                database.execute("INSERT INTO hint (day, number, at) VALUES (?, ?, ?)", (day, hints + 1, self.now()))
            return min(hints + 1, most)

    def runs(self, day: int | None = None) -> list[RunRecord]:
        """Every verdict, oldest first; of one day only where it is given."""
        rows = self._of_day(f"SELECT {_RUN} FROM run", day)
        records = (dict(zip(_RUN.split(", "), row, strict=True)) for row in rows)
        return [RunRecord(**record | {"at": _time(record["at"]), "passed": bool(record["passed"]),
                                      "measured": json.loads(record["measured"])}) for record in records]  # fmt: skip

    def answers(self, day: int | None = None) -> list[AnswerRecord]:
        """Every answer, oldest first; of one day only where it is given."""
        rows = self._of_day("SELECT at, day, question, given, correct FROM answer", day)
        return [AnswerRecord(_time(at), number, question, answer, bool(right))
                for at, number, question, answer, right in rows]  # fmt: skip

    def hints(self, day: int) -> int:
        """How many hints were taken."""
        return int(self.read("SELECT count(*) FROM hint WHERE day = ?", day)[0][0])

    def solution_seen_early(self, day: int) -> bool:
        """Whether the solution was looked at before the lab was passed."""
        return bool(self.read("SELECT count(*) FROM solution WHERE day = ? AND NOT passed", day)[0][0])

    def active_times(self) -> list[datetime]:
        """When something was done: runs and answers."""
        return [_time(row[0]) for row in self.read("SELECT at FROM run UNION SELECT at FROM answer ORDER BY at")]

    def _of_day(self, words: str, day: int | None) -> list[Any]:
        """The rows of a query over a table, oldest first; of one day only where it is given."""
        if day is None:
            return self.read(f"{words} ORDER BY id")
        return self.read(f"{words} WHERE day = ? ORDER BY id", day)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
