"""What the judge says, as records; `json()` gives the fields of the command line's `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gridstride.compiler import Diagnostic
    from gridstride.judge.header import KernelFile

from gridstride.judge.cases.coverage import Coverage
from gridstride.judge.finding_kinds import is_fault

Verdict = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a kernel, in words, with its source line and the thread that met it.

    Kinds are those of `finding_kinds.KINDS`. `pattern` says how the wrong elements of a wrong_result lie.
    """

    kind: str
    message: str
    line: int | None = None
    thread: Mapping[str, tuple[int, ...]] | None = None  # {"block": (x, y, z), "thread": (x, y, z)}
    pattern: str | None = None

    def json(self) -> dict[str, Any]:
        """The fields of `check --json`."""
        thread = {name: list(coordinates) for name, coordinates in self.thread.items()} if self.thread else None
        return {"kind": self.kind, "line": self.line, "message": self.message, "thread": thread}


@dataclass(frozen=True, slots=True, kw_only=True)
class RungResult:
    """The verdict on one kernel. Times are milliseconds; `time_ms` only where a physical GPU ran it.

    `coverage` counts the classes of cases that it was right on; `repeatable`: two runs on the same data left the same
    bits each time. `max_error` is the largest error in proportion to the
    size of what was added up; None when nothing could be compared. `rounds` is how many times were measured, `time_ms`
    their median, `spread_ms` half the distance between their quartiles, `interval_ms` where the median lies with 95 %
    probability. All of them with a cold L2; `warm_ms` is the median over launches on the same memory.
    `multiprocessor_mhz` is the clock before the rounds and after them. `speed_of_light` is the share of the chip's
    limit that was reached.
    """

    rung: str
    title: str
    findings: tuple[Finding, ...] = ()
    max_error: float | None = None
    cases: int = 0
    coverage: Coverage | None = None
    repeatable: bool | None = None
    time_ms: float | None = None
    spread_ms: float | None = None
    rounds: int | None = None
    interval_ms: tuple[float, float] | None = None
    warm_ms: float | None = None
    multiprocessor_mhz: tuple[float, float] | None = None
    predicted_ms: float | None = None
    speed_of_light: float | None = None
    limiter: str | None = None
    peers: Mapping[str, float] = field(default_factory=dict)  # name -> peer's time over this kernel's
    counters: Mapping[str, float] = field(default_factory=dict)
    sanitizers: tuple[str, ...] = ("virtual GPU",)
    warnings: tuple[Diagnostic, ...] = ()
    """The compiler's: they do not decide the verdict."""
    notes: tuple[str, ...] = ()  # what the judge took for granted: which parameter is which, which configuration
    run: Any = None  # the observed run, with counters per source line, for reports

    @property
    def verdict(self) -> Verdict:
        """pass when nothing was found."""
        return "fail" if self.findings else "pass"

    @property
    def races(self) -> int:
        """How many races were found."""
        return sum(finding.kind == "race" for finding in self.findings)

    @property
    def faults(self) -> int:
        """How many findings stopped the kernel or touched what is not its own."""
        return sum(is_fault(finding.kind) for finding in self.findings)

    def json(self) -> dict[str, Any]:
        """One rung of `climb --json`."""
        error = self.max_error
        return {
            "rung": self.rung,
            "verdict": self.verdict,
            "max_error": error if error is None or error < float("inf") else "inf",
            "races": self.races,
            "faults": self.faults,
            "time_ms": self.time_ms,
            "rounds": self.rounds,
            "interval_ms": list(self.interval_ms) if self.interval_ms else None,
            "warm_ms": self.warm_ms,
            "multiprocessor_mhz": list(self.multiprocessor_mhz) if self.multiprocessor_mhz else None,
            "predicted_ms": self.predicted_ms,
            "speed_of_light": self.speed_of_light,
            "limiter": self.limiter,
            "peers": dict(self.peers),
            "counters": dict(self.counters),
        }

    def check_json(self) -> dict[str, Any]:
        """The object of `check --json`."""
        findings = [finding.json() for finding in self.findings]
        covered = self.coverage.json() if self.coverage else {}
        warned = [{"file": w.file, "line": w.line, "column": w.column, "message": w.message} for w in self.warnings]
        more = {"cases": self.cases, "coverage": covered, "repeatable": self.repeatable, "warnings": warned}
        return {**self.json(), **more, "sanitizers": list(self.sanitizers), "findings": findings,
                "notes": list(self.notes)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Twin:
    """A kernel of the problem in another language, judged beside the rungs as a submission is."""

    file: KernelFile
    result: RungResult


@dataclass(frozen=True, slots=True)
class Rejection:
    """A kernel that must be rejected, with what it had to be found guilty of and what was found."""

    kernel: str
    title: str
    expected: str
    lines: frozenset[int]
    findings: tuple[Finding, ...]

    @property
    def match(self) -> Finding | None:
        """The finding that was asked for, on a line that was asked for."""
        kind, _, pattern = self.expected.partition(" ")
        for finding in self.findings:
            right_place = not self.lines or finding.line in self.lines
            if finding.kind == kind and right_place and (not pattern or finding.pattern == pattern):
                return finding
        return None

    def json(self) -> dict[str, Any]:
        """One entry of `wrong` in `climb --json`."""
        return {
            "kernel": self.kernel,
            "expected": self.expected,
            "verdict": "rejected" if self.match else "missed",
            "findings": [finding.json() for finding in self.findings],
        }
