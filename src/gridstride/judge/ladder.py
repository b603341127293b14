"""Climbs a ladder: every rung verified, counted, and timed where there is a GPU; every wrong kernel rejected."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gridstride.device.choice import device as choose
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.cases.coverage import coverage
from gridstride.judge.cases.kernel_cases import KernelText, kernel_cases
from gridstride.judge.cases.path_cases import path_cases
from gridstride.judge.execution.runnable import RefusedError, Runnable, build
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.problem import ProblemError
from gridstride.judge.reference.prepared_cases import PreparedCases, prepare
from gridstride.judge.rung_figures import counted, timed
from gridstride.judge.rung_findings import (
    missing_classes,
    outgrown_variables,
    unreached_lines,
    with_parameter_notes,
    with_products_that_wrap,
)
from gridstride.judge.sandbox.python_header import is_python
from gridstride.judge.sandbox.subject import Sandbox, SandboxedKernel
from gridstride.judge.timing.memcheck import memcheck
from gridstride.judge.timing.timer import Timer
from gridstride.judge.verdict import Finding, Rejection, RungResult, Twin
from gridstride.judge.verify import Verification, refused_launch, verify
from gridstride.protocol import Device
from gridstride.virtual.chips import names as chips
from gridstride.virtual.gpu import VirtualGPU

_TIME_LIMIT = 30.0  # seconds for one launch of a case on the virtual GPU: they take milliseconds
_WRONG_TIME_LIMIT = 1.0  # the same for kernels that must be rejected, some of which never end
_VERDICT = 30  # times as long as one launch may take, all cases of a submission may: they take 3 to 35 seconds
_CHIP = "h200"  # stands in for a physical GPU that has no chip file
Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody hears of."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of what is judged: `kernel` of each kernel, `detail` of what is being done with it when that takes a
    while, `case` of each case before it is run.
    """

    kernel: Progress = quiet
    detail: Progress = quiet
    case: Progress = quiet


_NOBODY = Listeners()


class Ladder:
    """Judges the kernels of one problem on one device.

    Iterating gives a RungResult as each rung is done; `rejections()` a Rejection for each wrong kernel; `json()`
    all that has been done so far. `left_out` are rungs whose instructions the GPU does not have. On a physical
    GPU the sanitizer's work and the counting is still done on the virtual one, at small sizes: hardware does
    neither. With `sandbox` the virtual one is a worker process under limits; `close()` ends it.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        device: Device | str | None = None,
        rungs: Sequence[str] = (),
        seed: int | None = None,
        listeners: Listeners = _NOBODY,
        sandbox: bool | Sandbox = False,
    ) -> None:
        self.folder, self.problem = folder, folder.problem
        self.device = choose(device)
        self.seed = secrets.randbelow(2**31) if seed is None else seed
        self.results: list[RungResult] = []
        self.rejected: list[Rejection] = []
        self.twins: list[Twin] = []
        self._listeners = listeners
        chip = self.device.chip if self.device.chip in chips() else _CHIP
        self._virtual = self.device if self.device.kind == "virtual" else VirtualGPU(chip, time_limit=_TIME_LIMIT)
        self._impatient = VirtualGPU(chip, time_limit=_WRONG_TIME_LIMIT)
        self._sandbox = (Sandbox(self._virtual) if sandbox else None) if isinstance(sandbox, bool) else sandbox
        if self._sandbox is not None:
            self._sandbox.start()
        chosen = folder.rungs(rungs)
        # What is asked for by name is judged all the same: its verdict says what the GPU lacks.
        self.files = tuple(file for file in chosen if rungs or file.runs_on(self.device.properties))
        self.left_out = tuple(file for file in chosen if file not in self.files)
        self._prepared: PreparedCases | None = None
        self._timer: Timer | None = None

    @property
    def virtual(self) -> Device:
        """The virtual GPU that counts, also where a physical one runs."""
        return self._virtual

    @property
    def sandbox(self) -> Sandbox | None:
        """Where submissions are compiled and run on the virtual GPU; None where they are not locked in."""
        return self._sandbox

    @property
    def wrong(self) -> tuple[KernelFile, ...]:
        """The kernels that must be rejected, but for those whose instructions the virtual GPU does not have."""
        return tuple(file for file in self.folder.wrong() if file.runs_on(self._virtual.properties))

    @property
    def passed(self) -> bool:
        """Whether all that was judged so far passed, and every wrong kernel was rejected for its fault."""
        judged = [*self.results, *(twin.result for twin in self.twins)]
        return all(r.verdict == "pass" for r in judged) and all(r.match for r in self.rejected)

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[RungResult]:
        for file in self.files:
            result = self.judge(file)
            self.results.append(result)
            yield result

    def rejections(self, files: Sequence[KernelFile] | None = None) -> Iterator[Rejection]:
        """Judge the kernels that must be rejected, or some of them, on the virtual GPU: on hardware some would end the
        process.
        """
        wrong = self.wrong if files is None else [f for f in files if f.runs_on(self._virtual.properties)]
        for file in wrong:
            self._listeners.kernel(f"{self.problem.name}/wrong/{file.name}")
            expect = file.expect
            if expect is None:
                raise ProblemError(f"{file.filename} has no line `// expect: …`: what must be found in it?")
            findings = self._findings(file)
            rejection = Rejection(file.name, file.title, str(expect), expect.lines, findings)
            self.rejected.append(rejection)
            yield rejection

    def judge(self, file: KernelFile) -> RungResult:
        """The verdict on one kernel file."""
        self._listeners.kernel(f"{self.problem.name}/{file.name}")
        result = RungResult(rung=file.name, title=file.title)
        try:
            for device in dict.fromkeys((self._virtual, self.device)):
                runnable = self._built(file, device)
                facts = runnable.facts
                result = replace(result, warnings=facts.warnings, notes=facts.notes or result.notes)
                if device.kind == "physical":
                    result = self._memchecked(result, file)
                result = result if result.findings else self._judged(result, runnable)
                if result.findings:
                    return replace(result, findings=with_parameter_notes(result.findings, result.notes))
        except RefusedError as refused:
            return replace(result, findings=(refused.finding,))
        return result

    def build(self, file: KernelFile) -> Runnable | SandboxedKernel:
        """The kernel on the virtual GPU, in the worker where there is one; RefusedError."""
        return self._built(file, self._virtual)

    def _built(self, file: KernelFile, device: Device) -> Runnable | SandboxedKernel:
        if self._sandbox is not None and device is self._virtual:
            return self._sandbox.build(self.problem, file)
        if is_python(file.filename):
            if self._sandbox is not None:
                return self._sandbox.on(device, file)
            message = "a submission in Python is compiled in a worker: it cannot be judged with --no-sandbox"
            raise RefusedError(Finding("launch", message))
        return build(self.problem, file, device)

    def _memchecked(self, result: RungResult, file: KernelFile) -> RungResult:
        """A submission under compute-sanitizer at the timed size, where there is one; a project's own rungs are not."""
        if self._sandbox is None or is_python(file.filename):
            return result
        self._listeners.detail("running it under compute-sanitizer")
        checked = memcheck(file.filename, str(self.folder.path), self.seed)
        if checked.problem:
            self._listeners.detail(checked.problem)
            return result
        return replace(result, findings=checked.findings, sanitizers=(*result.sanitizers, "compute-sanitizer memcheck"))

    def close(self) -> None:
        """End the worker, where there is one."""
        if self._sandbox is not None:
            self._sandbox.close()

    def json(self) -> dict[str, Any]:
        """The object of `climb --json`, with the wrong kernels beside the rungs."""
        return {
            "problem": self.problem.name,
            "device": self.device.kind,
            "chip": self.device.chip,
            "rungs": [result.json() for result in self.results],
            "twins": [twin.result.json() for twin in self.twins],
            "wrong": [rejection.json() for rejection in self.rejected],
            "left_out": [file.name for file in self.left_out],
        }

    def _judged(self, result: RungResult, runnable: Runnable | SandboxedKernel) -> RungResult:
        if refused := refused_launch(self.problem, runnable):
            return replace(result, findings=refused)
        seconds = _VERDICT * self._virtual.time_limit if isinstance(self._virtual, VirtualGPU) else math.inf
        verification = self._verified(runnable, seconds=seconds, progress=self._listeners.case)
        facts = runnable.facts
        case_coverage = coverage(
            self.problem,
            verification.passed,
            runnable.launch,
            float_index=facts.float_index,
            tallies=facts.tallies,
            conditions=facts.conditions,
        )
        result = replace(
            result,
            coverage=case_coverage,
            repeatable=verification.repeatable,
            findings=with_products_that_wrap(verification.findings, self.problem, runnable, verification.failed)
            or outgrown_variables(self.problem, verification, runnable)
            or missing_classes(case_coverage),
            max_error=verification.max_error if result.max_error is None else result.max_error,
            cases=verification.cases,
            notes=(*result.notes, *unreached_lines(verification)),
        )
        if result.findings:
            return result
        if isinstance(runnable, SandboxedKernel) or runnable.device.kind == "virtual":
            return counted(result, self.problem, runnable, seed=self.seed, gpu=self.device.properties)
        self._timer = self._timer or Timer(self.problem, self.device, seed=self.seed, progress=self._listeners.detail)
        return timed(result, self.problem, runnable, timer=self._timer, gpu=self.device.properties)

    def cases(self) -> PreparedCases:
        """What every kernel is run on, with its data; the same for all of them."""
        if self._prepared is None:
            self._prepared = prepare(self.problem, all_cases(self.problem, seed=self.seed))
        return self._prepared

    def cases_of(self, runnable: Runnable | SandboxedKernel) -> PreparedCases:
        """Those that every kernel is run on, and those next to the tiles of this kernel's launch and its branches."""
        facts = runnable.facts
        text = KernelText(**{field.name: getattr(facts, field.name) for field in fields(KernelText)})
        more = kernel_cases(self.problem, runnable.launch, text, seed=self.seed)
        return self.cases() + prepare(self.problem, more, keep=False)

    def _verified(
        self, runnable: Runnable | SandboxedKernel, *, seconds: float = math.inf, progress: Progress = quiet
    ) -> Verification:
        """On the usual cases, then on those for the ways through this kernel that few of them took."""
        first = verify(self.problem, runnable, self.cases_of(runnable), seconds=seconds, progress=progress)
        if first.findings:
            return first
        more = prepare(self.problem, path_cases(self.problem, first.passed, first.paths, seed=self.seed), keep=False)
        seconds_left = seconds - first.seconds
        return first.followed_by(verify(self.problem, runnable, more, seconds=seconds_left, progress=progress))

    def _findings(self, file: KernelFile) -> tuple[Finding, ...]:
        try:
            return self._verified(build(self.problem, file, self._impatient)).findings
        except RefusedError as refused:
            return (refused.finding,)


def climb(
    folder: Folder,
    *,
    device: Device | str | None = None,
    rungs: Sequence[str] = (),
    seed: int | None = None,
    listeners: Listeners = _NOBODY,
) -> Ladder:
    """The ladder of a problem, ready to be iterated. `rungs` (names or numbers) picks some; ProblemError for others."""
    return Ladder(folder, device=device, rungs=rungs, seed=seed, listeners=listeners)
