"""Climbs a ladder: every rung verified, counted, and timed where there is a GPU; every wrong kernel rejected."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gridstride.device.choice import device as choose
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.cases.coverage import Coverage, coverage
from gridstride.judge.cases.kernel_cases import kernel_cases
from gridstride.judge.cases.path_cases import never_run, path_cases
from gridstride.judge.execution.launch_limits import too_large_a_heap, too_many_registers
from gridstride.judge.execution.runnable import RefusedError, Runnable, build
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.problem import Case, ProblemError
from gridstride.judge.reference.prepared_cases import PreparedCases, prepare
from gridstride.judge.results.outgrown import outgrown
from gridstride.judge.sandbox.python_header import is_python
from gridstride.judge.sandbox.subject import Sandbox, SandboxedKernel
from gridstride.judge.timing.limits import Rates, floor_ms
from gridstride.judge.timing.memcheck import memcheck
from gridstride.judge.timing.timer import Timer
from gridstride.judge.verdict import Finding, Rejection, RungResult, Twin
from gridstride.judge.verify import Verification, observe, refused_launch, totals, verify
from gridstride.protocol import Device, DeviceError
from gridstride.virtual.chips import names as chips
from gridstride.virtual.gpu import VirtualGPU

_TOO_FAST = 0.98  # a time under this share of the roofline is a fault, not a record; clocks may boost a little
_TIME_LIMIT = 30.0  # seconds for one launch of a case on the virtual GPU: they take milliseconds
_WRONG_TIME_LIMIT = 1.0  # the same for kernels that must be rejected, some of which never end
_VERDICT = 30  # times as long as one launch may take, all cases of a submission may: they take 3 to 35 seconds
_ARGUMENTS_AT_FAULT = frozenset({"wrong_result", "input_changed", "out_of_bounds", "uninitialised_read"})
_CHIP = "h200"  # stands in for a physical GPU that has no chip file
Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody hears of."""


class Ladder:
    """Judges the kernels of one problem on one device.

    Iterating gives a RungResult as each rung is done; `rejections()` a Rejection for each wrong kernel; `json()` all
    that has been done so far. `left_out` are rungs whose instructions the GPU does not have. `progress` hears of each
    kernel, `detail` what is being done with it when that takes a while, `cases` of each case before it is run. On a
    physical GPU the sanitizer's work and the counting is still done on the virtual one, at small sizes: hardware does
    neither. With `sandbox` the virtual one is a worker process under limits; `close()` ends it.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        device: Device | str | None = None,
        rungs: Sequence[str] = (),
        seed: int | None = None,
        progress: Progress = quiet,
        detail: Progress = quiet,
        cases: Progress = quiet,
        sandbox: bool | Sandbox = False,
    ) -> None:
        self.folder, self.problem = folder, folder.problem
        self.device = choose(device)
        self.seed = secrets.randbelow(2**31) if seed is None else seed
        self.results: list[RungResult] = []
        self.rejected: list[Rejection] = []
        self.twins: list[Twin] = []
        self._progress, self._detail, self._on_case = progress, detail, cases
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
            self._progress(f"{self.problem.name}/wrong/{file.name}")
            expect = file.expect
            if expect is None:
                raise ProblemError(f"{file.filename} has no line `// expect: …`: what must be found in it?")
            findings = self._findings(file)
            rejection = Rejection(file.name, file.title, str(expect), expect.lines, findings)
            self.rejected.append(rejection)
            yield rejection

    def judge(self, file: KernelFile) -> RungResult:
        """The verdict on one kernel file."""
        self._progress(f"{self.problem.name}/{file.name}")
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
                    return replace(result, findings=_with_notes(result.findings, result.notes))
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
        self._detail("running it under compute-sanitizer")
        checked = memcheck(file.filename, str(self.folder.path), self.seed)
        if checked.problem:
            self._detail(checked.problem)
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
        verification = self._verified(runnable, seconds=seconds, progress=self._on_case)
        facts = runnable.facts
        seen = coverage(
            self.problem,
            verification.seen,
            runnable.launch,
            float_index=facts.float_index,
            conditions=facts.conditions,
        )
        result = replace(
            result,
            coverage=seen,
            repeatable=verification.repeatable,
            findings=verification.findings or self._outgrown(verification, runnable) or _lacking(seen),
            max_error=verification.max_error if result.max_error is None else result.max_error,
            cases=verification.cases,
            notes=(*result.notes, *_of_unreached(verification)),
        )
        if result.findings:
            return result
        if isinstance(runnable, SandboxedKernel) or runnable.device.kind == "virtual":
            return self._counted(result, runnable)
        return self._timed(result, runnable)

    def _outgrown(self, verification: Verification, runnable: Runnable | SandboxedKernel) -> tuple[Finding, ...]:
        """Variables of the kernel's module that are too small for the timed size."""
        if not any(path.variables for path in verification.paths):
            return ()
        grids = [runnable.shape(case.sizes, case.multiprocessors).grid for case in verification.seen]
        sizes = " ".join(f"{name}={value}" for name, value in self.problem.timed.items())
        return outgrown(grids, verification.paths, runnable.shape(self.problem.timed).grid, sizes)

    def _counted(self, result: RungResult, runnable: Runnable | SandboxedKernel) -> RungResult:
        """Counters of the observed case, and what they say about the timed one."""
        sizes = self.problem.observed
        one = prepare(self.problem, [Case(sizes, "normal", self.seed)])
        run, findings = observe(self.problem, runnable, one[0])
        if run is None:
            return replace(result, findings=findings)
        work = self.problem.work(self.problem.timed)
        factor = max(part / small for part, small in zip(work, self.problem.work(sizes), strict=True) if small)
        timed, gpu = runnable.shape(self.problem.timed), self.device.properties
        predicted = run.model.at(timed.grid, run.counters.scaled(factor, moved=work[1]))
        return replace(
            result,
            findings=findings or too_many_registers(run, timed.block, gpu) or too_large_a_heap(run, timed.grid, gpu),
            counters=totals(run),
            limiter=predicted.limiter,
            predicted_ms=predicted.ms,
            run=run,
        )

    def _timed(self, result: RungResult, runnable: Runnable) -> RungResult:
        self._timer = self._timer or Timer(self.problem, self.device, seed=self.seed, progress=self._detail)
        try:
            timing = self._timer.time(runnable)
        except DeviceError as error:  # a kernel that works for small sizes only may end the context at the timed one
            return replace(result, findings=(Finding("fault", f"at the timed size: {error}"),))
        floor = floor_ms(self.problem.work(self.problem.timed), Rates.of(self.device.properties, self.problem))
        findings: tuple[Finding, ...] = ()
        if not timing.right:
            findings = (Finding("wrong_result", "the results of the timed launches were wrong"),)
        elif timing.clocks:
            findings = (Finding("clocks_disagree", timing.clocks),)
        elif timing.median_ms < _TOO_FAST * floor:
            message = f"{timing.median_ms:.4g} ms is less than the {floor:.4g} ms that the chip needs at least"
            findings = (Finding("too_fast", message),)
        return replace(
            result,
            findings=findings,
            time_ms=timing.median_ms,
            spread_ms=timing.spread_ms,
            rounds=timing.rounds,
            interval_ms=timing.interval_ms,
            warm_ms=timing.warm_ms,
            multiprocessor_mhz=timing.multiprocessor_mhz,
            speed_of_light=floor / timing.median_ms,
            peers={name: peer / timing.median_ms for name, peer in timing.peers.items()},
        )

    def cases(self) -> PreparedCases:
        """What every kernel is run on, with its data; the same for all of them."""
        if self._prepared is None:
            self._prepared = prepare(self.problem, all_cases(self.problem, seed=self.seed))
        return self._prepared

    def cases_of(self, runnable: Runnable | SandboxedKernel) -> PreparedCases:
        """Those that every kernel is run on, and those next to the tiles of this kernel's launch and its branches."""
        facts = runnable.facts
        own = kernel_cases(
            self.problem,
            runnable.launch,
            float_index=facts.float_index,
            conditions=facts.conditions,
            constants=facts.constants,
            keeps=facts.keeps,
            seed=self.seed,
        )
        return self.cases() + prepare(self.problem, own, keep=False)

    def _verified(
        self, runnable: Runnable | SandboxedKernel, *, seconds: float = math.inf, progress: Progress = quiet
    ) -> Verification:
        """On the usual cases, then on those for the ways through this kernel that few of them took."""
        first = verify(self.problem, runnable, self.cases_of(runnable), seconds=seconds, progress=progress)
        if first.findings:
            return first
        more = prepare(self.problem, path_cases(self.problem, first.seen, first.paths, seed=self.seed), keep=False)
        left = seconds - first.seconds
        return first.followed_by(verify(self.problem, runnable, more, seconds=left, progress=progress))

    def _findings(self, file: KernelFile) -> tuple[Finding, ...]:
        try:
            return self._verified(build(self.problem, file, self._impatient)).findings
        except RefusedError as refused:
            return (refused.finding,)


def _of_unreached(verification: Verification) -> tuple[str, ...]:
    """A note on lines that nothing was said of."""
    lines = never_run(verification.paths)
    if verification.findings or not lines:
        return ()
    which = f"line {lines[0]} was" if len(lines) == 1 else f"lines {', '.join(map(str, lines))} were"
    return (f"{which} run in none of the {verification.cases} cases: the verdict says nothing about that",)


def _lacking(seen: Coverage) -> tuple[Finding, ...]:
    """A kernel that was not run on every class of cases has not passed."""
    missing = seen.missing
    if not missing:
        return ()
    return (Finding("incomplete", f"no verdict: no case of {len(missing)} classes was run, such as {missing[0]}"),)


def climb(
    folder: Folder,
    *,
    device: Device | str | None = None,
    rungs: Sequence[str] = (),
    seed: int | None = None,
    progress: Progress = quiet,
    detail: Progress = quiet,
) -> Ladder:
    """The ladder of a problem, ready to be iterated. `rungs` (names or numbers) picks some; ProblemError for others."""
    return Ladder(folder, device=device, rungs=rungs, seed=seed, progress=progress, detail=detail)


def _with_notes(findings: tuple[Finding, ...], notes: Sequence[str]) -> tuple[Finding, ...]:
    """Wrong results may come of arguments taken for others: the first finding says what was taken for what."""
    first, *others = findings
    about = [note for note in notes if "parameters" in note]
    if first.kind not in _ARGUMENTS_AT_FAULT or not about:
        return findings
    return (replace(first, message="\n".join([first.message, *about])), *others)
