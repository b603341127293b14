"""A kernel that is compiled and run in a worker, as the rest of the judge sees it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.attempt import Attempt, Observed, Results, steps
from gridstride.judge.execution.blame import Blame
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.execution.lane_timeline import TimelineStep
from gridstride.judge.execution.runnable import RefusedError, Runnable, launch_of
from gridstride.judge.header import MULTIPROCESSORS, KernelFile, LaunchShape, SymbolicLaunch
from gridstride.judge.parameter_names import named
from gridstride.judge.problem import Array, Case, Problem, Signature, Values
from gridstride.judge.sandbox import checked_words, records, run_records
from gridstride.judge.sandbox.client import CannotJudge, StoppedError, Worker
from gridstride.judge.sandbox.confined_clang import compiled_by_clang
from gridstride.judge.sandbox.limits import WorkerLimits, cramped
from gridstride.judge.sandbox.ptx_kernel import build_ptx
from gridstride.judge.sandbox.python_header import is_python, parse_python
from gridstride.judge.sandbox.python_kernels import CompiledKernel, compile_python
from gridstride.judge.sandbox.wire import Bounds, WireMessage
from gridstride.judge.verdict import Finding
from gridstride.protocol import Device
from gridstride.virtual.machine.watch import PROGRESS
from gridstride.virtual.machine.workers import cores

_FOUND, _COUNTED = 2 << 20, 8 << 20  # bytes of a reply about findings (text), and about counters of every line
_TOLD = 4.0  # seconds beyond a launch's own limit, for the virtual GPU to say which loop it was


class Sandbox:
    """Workers for the kernels of one problem on one virtual chip; the next one is started before it is needed.

    A worker serves until something ends it; kernels that follow get a new one. The first may be one that was started
    before the device was known, for its chip.
    """

    def __init__(self, device: Device, limits: WorkerLimits | None = None, *, worker: Worker | None = None) -> None:
        self.device = device
        self.limits = limits or WorkerLimits(
            launch_seconds=getattr(device, "time_limit", WorkerLimits().launch_seconds)
        )
        self._worker = worker
        self._python: tuple[KernelFile, CompiledKernel] | None = None  # the last one
        self._room = 0  # characters that the kernel in hand may still print

    def start(self) -> None:
        """Start a worker, and do not wait for it."""
        self._worker = self._worker or Worker(self.limits, chip=self.device.chip, workers=min(2, cores()))

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def build(self, problem: Problem, file: KernelFile) -> SandboxedKernel:
        """Compile a kernel file; RefusedError with the finding when that is not possible."""
        self._room = self.limits.printed
        if is_python(file.filename):
            return self._build_python(problem, file)
        launch = launch_of(problem, file)
        words = {"do": "build", "name": file.name, "filename": file.filename, "source": file.source,
                 "entry": file.entry, "launch": records.launch_words(launch),
                 "signature": records.signature_words(problem.signature)}  # fmt: skip
        compiled = compiled_by_clang(file, self.device.properties.arch, self.limits)
        return self._built(words, file, launch, compiled=compiled)

    def _build_python(self, problem: Problem, file: KernelFile) -> SandboxedKernel:
        python = parse_python(file.source, filename=file.filename)
        arch = self.device.properties.arch
        compiled = compile_python(python, problem.signature, arch=arch, limits=self.limits)
        self._python = file, compiled
        words = {"do": "build_ptx", "launch": records.launch_words(compiled.launch), **compiled.words}
        return self._built(words, file, compiled.launch, compiled.notes, by_name=named(compiled.notes))

    def on(self, device: Device, file: KernelFile) -> Runnable:
        """The PTX that a Python submission made when it was built here, on another device; RefusedError."""
        assert self._python is not None
        assert self._python[0] is file
        compiled = self._python[1]
        return build_ptx(compiled.words, compiled.launch, device)

    def _built(
        self,
        words: dict[str, Any],
        file: KernelFile,
        launch: SymbolicLaunch,
        notes: tuple[str, ...] = (),
        *,
        by_name: bool = False,
        compiled: bytes | None = None,
    ) -> SandboxedKernel:
        message = WireMessage(words, [compiled] if compiled else [])
        try:
            reply = self.ask(message, seconds=self.limits.compile_seconds, doing="compiling")
            refused = records.findings_of([reply.words["refused"]]) if "refused" in reply.words else ()
            facts = KernelFacts() if refused else records.facts_of(reply.words.get("facts"))
        except StoppedError as stopped:
            raise RefusedError(Finding("compile_error", f"stopped: {stopped.reason}")) from stopped
        except checked_words.MalformedError as error:
            raise RefusedError(_malformed(error)) from error
        if refused:
            raise RefusedError(*refused)
        return SandboxedKernel(self, file, launch, replace(facts, notes=(*notes, *facts.notes), by_name=by_name))

    def _show(self, printed: str) -> None:
        """Passes on what a kernel prints, up to a bound for all of its launches: a verdict has hundreds."""
        sys.stdout.write(printed[: self._room])
        if 0 < self._room < len(printed):
            sys.stdout.write("\n… what the kernel prints from here on is not shown\n")
        self._room = max(0, self._room - len(printed))

    def ask(self, message: WireMessage, *, seconds: float, doing: str, bounds: Bounds | None = None) -> WireMessage:
        """The worker's reply, within what it can have to say; StoppedError, CannotJudge."""
        self.start()
        assert self._worker is not None
        worker = self._worker
        try:
            reply = worker.ask(message, seconds=seconds, doing=doing, bounds=bounds)
        except BaseException:
            self._worker = None
            worker.close()
            raise
        self._show(checked_words.text(worker.printed(), self.limits.printed + 100))
        if "unable" in reply.words:
            self.close()
            raise CannotJudge(checked_words.text(reply.words["unable"]))
        if "error" in reply.words:
            self.close()
            error_text = checked_words.text(reply.words["error"])
            if error_text == "out of memory" and cramped(self.limits):
                raise CannotJudge(worker.blamed_on_limit(f"{doing} failed: {error_text}"))
            raise StoppedError("memory" if error_text == "out of memory" else "broken", f"{doing} failed: {error_text}")
        return reply


class SandboxedKernel:
    """A kernel in a worker. The inputs go there, raw results come back; what is right stays here."""

    def __init__(self, sandbox: Sandbox, file: KernelFile, launch: SymbolicLaunch, facts: KernelFacts) -> None:
        self._sandbox, self._file, self._launch = sandbox, file, launch
        self.facts = facts
        self.device = sandbox.device

    @property
    def launch(self) -> SymbolicLaunch:
        """Grid and block in expressions over the sizes."""
        return self._launch

    def shape(self, sizes: Mapping[str, int], multiprocessors: int | None = None) -> LaunchShape:
        """Grid and block for these sizes on this device, or on one of so many multiprocessors."""
        count = multiprocessors or self.device.properties.multiprocessors
        return self._launch.shape({**sizes, MULTIPROCESSORS: count})

    def refusal(self, sizes: Mapping[str, int]) -> str:
        """Why hardware would refuse the launch for these sizes; empty where it would not."""
        self.shape(sizes)
        message = WireMessage({"do": "refusal", "sizes": dict(sizes)})
        try:
            reply = self._sandbox.ask(message, seconds=self._sandbox.limits.case_seconds, doing="looking at the launch")
            return checked_words.text(reply.words.get("refusal"))
        except StoppedError as stopped:
            return f"stopped: {stopped.reason}"

    def attempt(self, signature: Signature, case: Case, inputs: Sequence[Values]) -> Attempt:
        """Run the inputs in the same memory, the first one twice."""
        self.shape(case.sizes, case.multiprocessors)
        try:
            runs = len(steps(case, len(inputs)))
            bounds = _bounds(signature, case, runs)
            reply = self._request("attempt", signature, case, inputs, bounds)
            findings = records.findings_of(reply.words.get("findings"))
            path = records.path_of(reply.words.get("path"))
            return Attempt(findings, _results(reply, signature, case, inputs[0], runs), path)
        except StoppedError as stopped:
            return Attempt((_finding(stopped),))
        except checked_words.MalformedError as error:
            return Attempt((_malformed(error),))

    def observed(self, signature: Signature, case: Case, inputs: Values) -> Observed:
        """Run once with counters."""
        shape = self.shape(case.sizes, case.multiprocessors)
        try:
            bounds = replace(_bounds(signature, case, 1), words=_COUNTED)
            reply = self._request("observe", signature, case, [inputs], bounds)
            findings = records.findings_of(reply.words.get("findings"))
            results = _results(reply, signature, case, inputs, 1)
            run = reply.words.get("run")
            if run is not None:
                run = run_records.run_of(
                    run, chip_name=self.device.chip, shape=shape, source=self._file.source, findings=findings
                )
            return Observed(findings, run, results[0] if results else None)
        except StoppedError as stopped:
            return Observed((_finding(stopped),))
        except checked_words.MalformedError as error:
            return Observed((_malformed(error),))

    def blame(
        self, signature: Signature, case: Case, inputs: Values, name: str, wrong: Array, unwritten: Array
    ) -> Blame | None:
        """Who is behind the first wrong element of an output; None where nobody can tell."""
        masks = {"wrong": wrong, "unwritten": unwritten}
        try:
            return records.blame_of(
                self._request("blame", signature, case, [inputs, masks], name=name).words.get("blame")
            )
        except (StoppedError, checked_words.MalformedError):
            return None  # the finding stands without it

    def accesses(
        self, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]
    ) -> tuple[WarpAccess, ...]:
        """What the lanes of one warp touch on these lines; nothing where that cannot be seen."""
        try:
            reply = self._request("accesses", signature, case, [inputs], lines=sorted(lines))
            return records.accesses_of(reply.words.get("accesses"))
        except (StoppedError, checked_words.MalformedError):
            return ()

    def way_of_a_warp(self, signature: Signature, case: Case, inputs: Values) -> tuple[TimelineStep, ...]:
        """Which lanes of the first warp were on in each stretch of its way; nothing where that cannot be seen."""
        try:
            reply = self._request("way", signature, case, [inputs])
            return records.steps_of(reply.words.get("way"))
        except (StoppedError, checked_words.MalformedError):
            return ()

    def _request(
        self, what: str, signature: Signature, case: Case, inputs: Sequence[Values], bounds: Bounds | None = None,
        **more: Any,
    ) -> WireMessage:  # fmt: skip
        buffers: list[bytes] = []
        numbers = [{name: _sent(value, buffers) for name, value in values.items()} for values in inputs]
        words = {"do": what, "signature": records.signature_words(signature), "case": records.case_words(case),
                 "numbers": numbers, **more}  # fmt: skip
        limits = self._sandbox.limits
        most = max(limits.case_seconds, 2 * PROGRESS * limits.launch_seconds + _TOLD)
        return self._sandbox.ask(WireMessage(words, buffers), seconds=most, doing="running the kernel", bounds=bounds)


def _bounds(signature: Signature, case: Case, runs: int) -> Bounds:
    """What a reply of so many runs can hold: their outputs, and what was found."""
    outputs = [p for p in signature.parameters if p.written]
    nbytes = sum(prod(signature.shape(p, case.sizes)) * np.dtype(p.dtype).itemsize for p in outputs)
    return Bounds(words=_FOUND, buffers=runs * len(outputs), nbytes=runs * nbytes)


def _sent(value: Any, buffers: list[bytes]) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    buffers.append(np.ascontiguousarray(value).tobytes())
    return [len(buffers) - 1, value.dtype.str, list(value.shape)]


def _results(reply: WireMessage, signature: Signature, case: Case, inputs: Values, most: int) -> tuple[Results, ...]:
    """The arrays of each run, of the sizes that the problem says; MalformedError for anything else."""
    outputs = [p for p in signature.parameters if p.written]
    runs = checked_words.integer(reply.words.get("runs"), 0, most)
    if len(reply.buffers) != runs * len(outputs):
        raise checked_words.MalformedError(f"{runs} runs in {len(reply.buffers)} arrays")
    if not reply.words["findings"] and runs != most:
        raise checked_words.MalformedError(f"{runs} of {most} runs")
    results_of_runs: list[Results] = []
    arrays = iter(reply.buffers)
    for _ in range(runs):
        results_of_runs.append({})
        for parameter in outputs:
            shape, dtype = signature.shape(parameter, case.sizes), np.dtype(parameter.dtype)
            data = next(arrays)
            if len(data) != prod(shape) * dtype.itemsize:
                raise checked_words.MalformedError(f"{len(data)} bytes for {parameter.name}")
            results_of_runs[-1][parameter.name] = np.frombuffer(data, dtype).reshape(shape)
    return tuple(results_of_runs)


def _finding(stopped: StoppedError) -> Finding:
    kinds = {"time": "timeout", "memory": "out_of_memory", "threads": "fault", "crash": "fault"}
    return Finding(kinds.get(stopped.why, "fault"), f"stopped: {stopped.reason}")


def _malformed(error: Exception) -> Finding:
    return Finding("fault", f"the worker's reply is not one: {checked_words.text(error, 200)}")
