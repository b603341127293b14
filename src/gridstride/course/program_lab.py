"""A lab whose file is a whole program: compiled, run several times on other data, and held against what must come."""

from __future__ import annotations

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gridstride.course.arithmetic import evaluate
from gridstride.course.bounds import out_of_bounds
from gridstride.course.figures import LAB, Bench
from gridstride.course.lab_verdict import LabFinding, LabVerdict, with_line
from gridstride.course.lesson import Day, Lab, LabRun, PrintedLine
from gridstride.course.program_runs import counts

if TYPE_CHECKING:
    from gridstride.judge.verify import Prepared
    from gridstride.programs.activity import Call
    from gridstride.programs.confined import Outcome

KINDS: dict[str, str] = {
    "crash": "the program was ended by a signal",
    "too_much": "the program took more memory, threads or disk than a lab has",
    "exit_status": "the program ended with another exit status",
    "no_result": "a file that the program was to write is missing, or of another length",
    "wrong_lines": "the lines that were printed are not those that must come",
    "not_by_kernel": "lines that a kernel was to print came from the host",
    "error_ignored": "a call failed, and the program went on or did not say so",
    "not_waited": "the program ended before a launch was waited for",
}
"""What is found in programs, besides what the judge finds in kernels and what a bound does."""

_MODELLED = "modelled_us"
_SEED = 1 << 30
_SHOWN = 3  # lines that are missing or too many
_WIDE = 60  # characters of a printed line that are quoted
_ORDINALS = {1: "first", 2: "second", 3: "third"}
_PLACE = re.compile(r"^(?P<file>[^\n:(]+)(?::|\()(?P<line>\d+)(?:\)|:\d+)?:\s*(?:fatal )?error:?\s*(?P<said>.+)$", re.M)
_ERRORS: dict[Call, tuple[str, str]] = {
    "allocation": ("out of memory", "cudaErrorMemoryAllocation"),
    "copy": ("unknown error", "cudaErrorUnknown"),
    "launch": ("too many resources requested for launch", "cudaErrorLaunchOutOfResources"),
    "kernel": ("an illegal memory access was encountered", "cudaErrorIllegalAddress"),
}
"""What cudaGetErrorString and cudaGetErrorName say of each call that is made to fail."""
_ASKED: dict[Call, str] = {
    "allocation": "cudaMalloc gives an error code back, as every call does: is it looked at, there too?",
    "copy": "cudaMemcpy gives an error code back, as every call does: is it looked at, there too?",
    "launch": "A launch gives nothing back; cudaGetLastError() right behind it says whether it was refused.",
    "kernel": "The launch went well, and what the kernel did is known when the host has waited for it: which call "
              "waits, and is what it gives back looked at?",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One run's sizes, and the problem's data and answers where the lab has a problem."""

    run: LabRun
    sizes: Mapping[str, int]
    prepared: Prepared | None


class ProgramLab:
    """Judges one day's program again and again. `draw` gives the runs' sizes and data."""

    def __init__(self, day: Day, *, draw: random.Random | None = None) -> None:
        from gridstride.programs.confined import ProgramRoom

        self.day = day
        self._draw = draw or random.Random()
        self._bench = Bench(day)
        self._room = ProgramRoom(chip=day.lab.chip)
        self._first: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was built."""
        self._room.close()

    def warm_up(self) -> None:
        """MissingToolchain where the compilers are not installed."""
        from gridstride.programs.toolchain import toolchain

        toolchain()

    def build(self, file: Path) -> None:
        """Compile the program; BuildFailed."""
        self._room.build(file)

    def judge(self, file: Path) -> LabVerdict:
        """The verdict on the file as it is now; OSError where it cannot be read."""
        from gridstride.programs.errors import BuildFailed

        began = time.perf_counter()
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        findings: tuple[LabFinding, ...] = ()
        measured: dict[str, float] = {}
        done = 0
        try:
            self.build(file)
        except BuildFailed as failed:
            findings = (_not_built(failed.output, str(failed), text),)
        else:
            for run in self.day.lab.runs:
                if findings := tuple(self._findings(run, text)):
                    break
                done += 1
            if not findings:
                counted = self.counted() if self._is_modelled() else self._first
                findings = tuple(out_of_bounds(self.day, counted))
                measured = {} if findings else self._measured(counted)
        return LabVerdict(self.day.number, findings, time.perf_counter() - began, measured, done, source=text,
                          chip=self.day.lab.chip)  # fmt: skip

    def counted(self) -> dict[str, float]:
        """What the program that was built does in the first run, with that run's sizes, by name."""
        first = self._drawn(self.day.lab.runs[0])
        return {**counts(self._outcome(first, predict=True)), **first.sizes}

    def _is_modelled(self) -> bool:
        """Whether a figure that is looked at is a modelled time, which takes a run of its own."""
        used = (*self.day.lab.measures, *(bound.figure for bound in self.day.lab.bounds))
        return any(_MODELLED in self.day.figures[name].value for name in used)

    def _measured(self, counted: Mapping[str, float]) -> dict[str, float]:
        figures = self.day.figures
        return {
            name: self._bench.value(name, lab=counted if figures[name].run == LAB else None)
            for name in self.day.lab.measures
        }

    # -- one run ------------------------------------------------------------------------------------------------------
    def _drawn(self, run: LabRun) -> _Drawn:
        from gridstride.judge.find import find
        from gridstride.judge.problem import Case
        from gridstride.judge.verify import prepare

        sizes = {name: self._draw.randint(low, high) for name, (low, high) in run.sizes.items()}
        if not self.day.lab.problem:
            return _Drawn(run, sizes, None)
        (prepared,) = prepare(
            find(self.day.lab.problem).problem, [Case(sizes, "normal", self._draw.randrange(_SEED), hidden=True)]
        )
        return _Drawn(run, sizes, prepared)

    def _outcome(self, drawn: _Drawn, *, predict: bool = False) -> Outcome:
        from gridstride.programs.run import Settings

        self._room.clear()
        settings = Settings(sanitize=not predict, predict=predict, time_limit=self.day.lab.seconds,
                            fails=drawn.run.fails)  # fmt: skip
        return self._room.run([Path(self.day.lab.file).stem, *self._arguments(drawn)], settings)

    def _arguments(self, drawn: _Drawn) -> list[str]:
        """The program's arguments; the files that they name hold the run's data."""
        values: dict[str, Any] = dict(drawn.sizes)
        if drawn.prepared is not None:
            for name, value in drawn.prepared.inputs.items():
                if getattr(value, "ndim", 0):
                    (self._room.data / f"{name}.bin").write_bytes(value.tobytes())
                elif name not in values:
                    values[name] = repr(float(value))
            for name in (*drawn.prepared.inputs, *drawn.prepared.expected):
                values.setdefault(name, str(self._room.data / f"{name}.bin"))
        return [each.format(**values) for each in self.day.lab.arguments]

    def _findings(self, run: LabRun, text: str) -> Iterator[LabFinding]:
        """What is wrong in one run; the first thing only, as the rest mostly follows from it."""
        drawn = self._drawn(run)
        outcome = self._outcome(drawn)
        if run is self.day.lab.runs[0]:
            self._first = {**counts(outcome), **drawn.sizes}
        for found in self._all_findings(drawn, outcome):
            called = f" ({self._called(drawn)})" if self.day.lab.arguments else ""
            message = f"{found.message}{called}"
            place = f", line {found.line}" if found.line else ""
            shown = with_line(f"{found.kind.replace('_', ' ')}{place}: {message}", text, found.line)
            yield LabFinding(found.kind, message, found.line, found.where, (*shown, *found.shown))
            return

    def _called(self, drawn: _Drawn) -> str:
        """How the program was called, in words that fit a line: its files without their folder."""
        words = [Path(each).name if each.startswith("/") else each for each in self._arguments(drawn)]
        return f"run as {Path(self.day.lab.file).stem} {' '.join(words)}"

    def _all_findings(self, drawn: _Drawn, outcome: Outcome) -> Iterator[LabFinding]:
        yield from _ended_otherwise(outcome)
        if drawn.run.fails:
            yield from _ignored(drawn.run, outcome)
            return
        device = [each for each in outcome.ended.findings if each["kind"] != "leak"]
        yield from (LabFinding(each["kind"], each["message"], each["line"]) for each in device)
        if outcome.ended.status != drawn.run.status:
            message = f"the program ended with exit status {outcome.ended.status}, {drawn.run.status} was expected"
            yield LabFinding("exit_status", message, shown=_said(outcome))
        yield from self._wrong_results(drawn)
        if self.day.lab.lines:
            yield from wrong_lines(self.day.lab, drawn.sizes, outcome)
        if launches := int(outcome.ended.activity.get("unwaited_launches", 0)):
            yield LabFinding("not_waited", _not_waited(launches))
        leaks = [each for each in outcome.ended.findings if each["kind"] == "leak"]
        if leaks:
            what = leaks[0]["message"]
            more = f"; there are {len(leaks)} such allocations" if len(leaks) > 1 else ""
            yield LabFinding("leak", f"{what}{more}. What is asked for with cudaMalloc is given back with cudaFree")

    def _wrong_results(self, drawn: _Drawn) -> Iterator[LabFinding]:
        """What is wrong in the files that the program was to write."""
        import numpy as np

        from gridstride.judge.find import find
        from gridstride.judge.patterns import Evidence, describe
        from gridstride.judge.verify import compared

        if drawn.prepared is None:
            return
        problem = find(self.day.lab.problem).problem
        for p in problem.outputs:
            shape, dtype = problem.shape(p, drawn.sizes), np.dtype(p.dtype)
            raw = _read(self._room.data / f"{p.name}.bin")
            size = int(np.prod(shape)) * dtype.itemsize
            if raw is None or len(raw) != size:
                came = "there is no such file" if raw is None else f"it has {len(raw):,} bytes"
                message = (
                    f"{p.name}.bin must hold {size // dtype.itemsize:,} values of {p.dtype}, {size:,} bytes: {came}"
                )
                yield LabFinding("no_result", message, where=p.name)
                return
            got = np.frombuffer(raw, dtype).reshape(shape)
            comparison = compared(problem, drawn.prepared, p.name, {p.name: got})
            if not comparison.passed:
                expected = drawn.prepared.expected[p.name].values
                pattern = describe(Evidence(got, expected, comparison.wrong, np.zeros_like(comparison.wrong)))
                yield LabFinding("wrong_result", f"{p.name}: {pattern}{_first_wrong(got, expected, comparison.wrong)}",
                                 where=pattern.name)  # fmt: skip
                return


def _ended_otherwise(outcome: Outcome) -> Iterator[LabFinding]:
    """A program that did not end by itself."""
    if outcome.stopped:
        kind = "timeout" if "had not ended" in outcome.stopped else "too_much"
        found = [each for each in outcome.ended.findings if each["kind"] in ("timeout", "deadlock")]
        if found:
            yield LabFinding(found[0]["kind"], found[0]["message"], found[0]["line"])
        more = f"; it had printed {outcome.lost:,} bytes more than are kept" if outcome.lost else ""
        yield LabFinding(kind, f"the program was stopped: {outcome.stopped}{more}", shown=_said(outcome))
    elif (number := outcome.ended.signal) is not None:
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        segfault = " Host code cannot use an address of device memory, nor a pointer that was never set." * (
            number == signal.SIGSEGV
        )
        yield LabFinding("crash", f"the program was ended by {name}.{segfault}".removesuffix("."), shown=_said(outcome))


def _ignored(run: LabRun, outcome: Outcome) -> Iterator[LabFinding]:
    """What a program says and does whose call failed."""
    ((call, number),) = run.fails.items()
    words = _ERRORS[call]
    nth = _ORDINALS.get(number, f"{number}th")
    what = f"the {nth} {call} was made to fail ({words[0]})" if call != "kernel" else f"the {nth} kernel faulted"
    said = outcome.stdout + outcome.stderr
    if outcome.ended.status == run.status:
        happened = f"and the program ended with exit status {run.status}, as if nothing had happened"
    elif not any(each in said for each in words):
        happened = f"and the program did not say so: print cudaGetErrorString of the code, {words[0]!r} here"
    else:
        return
    message = f"{what}, {happened}. {_ASKED[call]} gridstride run --fail {call}={number} does the same"
    yield LabFinding("error_ignored", message, shown=_said(outcome))


def _not_waited(launches: int) -> str:
    what = "a launch" if launches == 1 else f"{launches} launches"
    return (
        f"the program ended, and no call had waited for {what}. A launch only hands work over: on hardware the program "
        "may end before the kernel has begun, and what it prints or computes is lost. cudaDeviceSynchronize() waits"
    )


def wrong_lines(lab: Lab, sizes: Mapping[str, int], outcome: Outcome) -> Iterator[LabFinding]:
    """Lines that are missing or too many, or that come in another order where the lab has one."""
    in_turn = [line for rule in lab.lines for line in lines_of(rule, sizes)]
    expected, came = Counter(in_turn), Counter(outcome.stdout.splitlines())
    if outcome.lost:
        message = f"the program printed {outcome.lost:,} bytes more than are kept: does a loop in it ever end?"
        yield LabFinding("wrong_lines", message)
    elif came != expected:
        # How many must come is not told: it may be what the quiz asks for.
        differing = {"missing:": expected - came, "too often, or not expected:": came - expected}
        parts = [f"{what} {_quoted(list(lines))}" for what, lines in differing.items() if lines]
        counted = f"{came.total():,} {'line was' if came.total() == 1 else 'lines were'} printed"
        yield LabFinding("wrong_lines", f"{counted}; {'; '.join(parts)}")
    elif lab.in_order and (first := _out_of_order(outcome.stdout.splitlines(), in_turn)):
        yield LabFinding("wrong_lines", f"the lines are right and come in another order: {first}")
    by_kernel = sum(len(list(lines_of(rule, sizes))) for rule in lab.lines if rule.by_kernel)
    if (printed := int(outcome.ended.activity.get("kernel_lines", 0))) < by_kernel:
        message = (
            f"the lines are right, but kernels printed {printed:,} of them, not {by_kernel:,}: the rest is the host's"
        )
        yield LabFinding("not_by_kernel", message)


def _out_of_order(came: list[str], expected: list[str]) -> str:
    """The first line that comes in another's place; empty where none does."""
    pairs = ((number, *pair) for number, pair in enumerate(zip(came, expected, strict=True), start=1))
    return next((f"line {n} is {_quoted([a])}, {_quoted([b])} belongs there" for n, a, b in pairs if a != b), "")


def lines_of(rule: PrintedLine, sizes: Mapping[str, int]) -> Iterator[str]:
    """The lines that a rule stands for."""

    def values(names: list[str], known: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        if not names:
            yield known
            return
        for index in range(int(evaluate(rule.each[names[0]], known))):
            yield from values(names[1:], {**known, names[0]: index})

    for known in values(list(rule.each), sizes):
        for name, expression in rule.let.items():
            known = {**known, name: int(evaluate(expression, known))}
        yield rule.text.format(**known)


def _quoted(lines: list[str]) -> str:
    from gridstride.plain import plain

    shown = [f'"{plain(line)[:_WIDE]}"' for line in lines[:_SHOWN]]
    return ", ".join(shown) + " and more" * (len(lines) > _SHOWN)


def _said(outcome: Outcome) -> tuple[str, ...]:
    """The last lines that the program itself printed, for a terminal."""
    from gridstride.plain import plain

    own = [line for line in outcome.stderr.splitlines() if not line.startswith("gridstride: ")]
    lines = [*outcome.stdout.splitlines()[-_SHOWN:], *own[-_SHOWN:]]
    return tuple(f"  | {plain(line)[:100]}" for line in lines if line.strip())


def _read(file: Path) -> bytes | None:
    """What the program wrote; a link may lead anywhere, so none is followed."""
    return file.read_bytes() if file.is_file() and not file.is_symlink() else None


def _first_wrong(got: Any, expected: Any, wrong: Any) -> str:
    import numpy as np

    where = np.argwhere(wrong)
    if not len(where):
        return ""
    index = tuple(int(each) for each in where[0])
    place = "".join(f"[{each}]" for each in index)
    return f" The first is {place}: {got[index]:g}, it should be {expected[index]:g}"


def _not_built(output: str, message: str, text: str) -> LabFinding:
    """The compiler's first error, with its line in the learner's file."""
    place = _PLACE.search(output)
    if place is None:
        said = message if not output.strip() else output.strip().splitlines()[-1]
        return LabFinding("compile_error", said, shown=(f"compile error: {said}",))
    line = int(place["line"])
    shown = with_line(f"compile error, line {line}: {place['said']}", text, line)
    return LabFinding("compile_error", place["said"], line, shown=shown)
