"""From source files to the end of the program: compile, link, start its process, wait."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from gridstride.programs.calls.activity import Call
from gridstride.programs.process import early_process
from gridstride.programs.process.reports import ACTIVITY, LAUNCHES, TIMELINE
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import Compiling, compile_all, execute, library_objects
from gridstride.programs.toolchain.libraries import called
from gridstride.programs.toolchain.link import link, warm_up
from gridstride.programs.toolchain.openmp import ONE_THREAD, is_wanted, openmp
from gridstride.programs.toolchain.runtime_library import SONAME, runtime_library
from gridstride.programs.toolchain.wheels import Toolchain, toolchain

TIMED_OUT = 124
"""Exit status of a program that was ended by the time limit, as timeout(1) has it."""
Order = dict[str, Any]
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Built:
    """A linked program and the runtime library that it was linked against, as bytes of shared objects."""

    program: bytes
    runtime: bytes
    tools: Toolchain


@dataclass(frozen=True, slots=True)
class Settings:
    """What the program runs on. `time_limit` in seconds, None for none."""

    chip: str = "h200"
    sanitize: bool = False
    seed: int | None = None
    predict: bool = False
    timeline: bool = False
    """Whether the whole timeline is reported; only with `predict`."""
    pictures: bool = False
    """Whether the launches are reported line by line (`launch_pictures`); only with `predict`."""
    time_limit: float | None = None
    stdout: int | None = None
    """A descriptor for the program's stdout; its own where there is none."""
    fails: Mapping[Call, int] = field(default_factory=dict)
    """Which calls are made to fail, by number."""
    tells_calls: bool = False
    """Whether the activity has how often each function of the runtime was called (`activity.functions_called`)."""
    idle: bool = False
    """Whether kernels are launched and do nothing: what is right all the same is the host's."""
    late: bool = False
    """Whether work is done no sooner than the host waits for it (`late_work`); not with `predict`."""
    copy_log: str | None = None
    """A file for what its copies between host and device carry (`copy_log`), as the program's process sees it."""
    gpus: int = 1
    """How many of the chip the program sees, up to `peers.MOST`."""
    memory: int | None = None
    """Bytes that each of them has, where that is less than the chip's."""

    def order(
        self, tools: Toolchain, arguments: Sequence[str], *, program: str, runtime: str, reports: int | None
    ) -> Order:  # fmt: skip
        """What the program's process is told; `program` and `runtime` are paths as it sees them, `reports` None where
        nobody waits for any.
        """
        vendors = {
            "vendor_runtime": tools.vendor_runtime,
            "vendor_nvrtc": tools.vendor_nvrtc,
            "vendor_jit_link": tools.vendor_jit_link,
        }
        return {
            "runtime": runtime, "program": program, "reports": reports, "chip": self.chip, "sanitize": self.sanitize,
            "seed": self.seed, "predict": self.predict, "timeline": self.timeline, "pictures": self.pictures,
            "fails": dict(self.fails), "tells_calls": self.tells_calls, "idle": self.idle, "late": self.late,
            "copy_log": self.copy_log, "gpus": self.gpus, "gpu_memory": self.memory, "arguments": list(arguments),
            **{name: str(path) if path else None for name, path in vendors.items()},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `status` is what a shell would show: 128 + n for signal n."""

    status: int
    seconds: float
    signal: int | None = None
    timed_out: bool = False
    findings: tuple[dict[str, Any], ...] = field(default=())
    activity: Mapping[str, float] = field(default_factory=dict)
    """What it did on the device, by name (`activity.Activity`); empty where it did not end by itself."""
    timeline: Mapping[str, Any] = field(default_factory=dict)
    """What ran when (`timeline.summary.report`), where that was asked for."""
    launches: Sequence[Mapping[str, Any]] = ()
    """Its launches (`launch_pictures`), where they were asked for: as the process says it."""


def build(
    files: Sequence[Path], options: Options, *, arch: str, progress: Callable[[str], None],
    how: Compiling | None = None,
) -> Built:  # fmt: skip
    """Compiles and links, with one's own rights unless it says `how`; MissingToolchain, BuildFailed."""
    tools = toolchain()
    if how is None and is_wanted(files, options):
        options = replace(options, openmp=True)
        if openmp() is None:
            progress(ONE_THREAD)
    how = how or Compiling(execute)
    with warm_up(tools, progress=progress):
        runtime = runtime_library(tools, progress=progress)
        objects, options = compile_all(tools, files, options, arch=arch, progress=progress, how=how)
        for library in called(objects, options):
            progress(library.notice)
            objects += library_objects(tools, library, arch=arch, progress=progress)
    program = link(tools, objects, options, runtime=runtime, progress=progress, run=how.execute)
    return Built(program, runtime, tools)


def run(built: Built, arguments: Sequence[str], settings: Settings) -> Ended:
    """Runs the program to its end; `arguments` begin with its name."""
    with _in_memory(SONAME, built.runtime) as runtime, _in_memory("program", built.program) as program:
        early = early_process.take()

        def start(reports: int) -> subprocess.Popen[bytes]:
            order = _order(built, arguments, settings, program, runtime, reports)
            if early is not None:
                with contextlib.suppress(OSError):  # it was ended from outside: another is begun
                    words = json.dumps({**order, "stdout": settings.stdout}).encode()
                    return early.become(words, (runtime, program, reports))
            return subprocess.Popen(_command(order), pass_fds=(runtime, program, reports), stdout=settings.stdout)

        return watched(start, settings)


def become(built: Built, arguments: Sequence[str], settings: Settings) -> NoReturn:
    """This process goes on as the program's, with its number, so that what the program starts knows its parent."""
    with _in_memory(SONAME, built.runtime) as runtime, _in_memory("program", built.program) as program:
        for descriptor in (runtime, program):
            os.set_inheritable(descriptor, True)
        os.execv(sys.executable, _command(_order(built, arguments, settings, program, runtime, None)))


def _order(
    built: Built, arguments: Sequence[str], settings: Settings, program: int, runtime: int, reports: int | None
) -> Order:  # fmt: skip
    return settings.order(
        built.tools, arguments, program=f"/proc/self/fd/{program}", runtime=f"/proc/self/fd/{runtime}", reports=reports
    )


def _command(order: Order) -> list[str]:
    return [sys.executable, "-P", "-m", "gridstride.programs.process.child", json.dumps(order)]


def run_on_hardware(
    command: Sequence[str], *, time_limit: float | None, stdout: int | None, executable: Path | None = None
) -> Ended:  # fmt: skip
    """A process that finds this machine's GPU by itself, to its end; `executable` where it has another name."""
    began = time.monotonic()
    with signals_for_the_program() as pass_on:
        child = subprocess.Popen(command, executable=executable, stdout=stdout)
        pass_on.append(child)
        try:
            code = child.wait(time_limit)
        except subprocess.TimeoutExpired:
            return Ended(TIMED_OUT, time.monotonic() - began, timed_out=True)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return Ended(128 - code if code < 0 else code, time.monotonic() - began, -code if code < 0 else None)


def watched(start: Callable[[int], subprocess.Popen[bytes]], settings: Settings) -> Ended:
    """Waits for a process to end. `start` begins it, with the descriptor that it is to report to."""
    reading, writing = os.pipe()
    began = time.monotonic()
    with signals_for_the_program() as pass_on:
        child = start(writing)
        pass_on.append(child)
        os.close(writing)
        try:
            lines, timed_out = _wait(child, reading, settings.time_limit)
        finally:
            os.close(reading)
            if child.poll() is None:
                child.kill()
                child.wait()
    seconds = time.monotonic() - began
    report = reported(lines)
    code = child.returncode
    if timed_out:
        return Ended(TIMED_OUT, seconds, timed_out=True, findings=report.findings, activity=report.activity)
    return Ended(
        128 - code if code < 0 else code, seconds, -code if code < 0 else None, findings=report.findings,
        activity=report.activity, timeline=report.timeline, launches=report.launches,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reported:
    """What a program's process says of it; each empty where it says nothing."""

    findings: tuple[dict[str, Any], ...] = ()
    activity: dict[str, float] = field(default_factory=dict)
    timeline: dict[str, Any] = field(default_factory=dict)
    launches: list[Any] = field(default_factory=list)


def reported(lines: bytes) -> Reported:
    """From the lines that it wrote; one that was cut off is left out."""
    records = [json.loads(line) for line in lines.splitlines() if line.endswith(b"}")]
    latest = {
        key: next((record[key] for record in records if key in record), None) for key in (ACTIVITY, TIMELINE, LAUNCHES)
    }
    findings = tuple(record for record in records if not latest.keys() & record.keys())
    return Reported(findings, latest[ACTIVITY] or {}, latest[TIMELINE] or {}, latest[LAUNCHES] or [])


def _wait(child: subprocess.Popen[bytes], reading: int, limit: float | None) -> tuple[bytes, bool]:
    """What came through the pipe until the program ended, and whether it had to be ended."""
    import selectors

    os.set_blocking(reading, False)
    deadline = None if limit is None else time.monotonic() + limit
    lines = b""
    with selectors.DefaultSelector() as selector, contextlib.closing(_ExitDescriptor(child)) as exit_descriptor:
        selector.register(reading, selectors.EVENT_READ)
        selector.register(exit_descriptor, selectors.EVENT_READ)
        open_pipe = True
        while True:
            time_left = None if deadline is None else deadline - time.monotonic()
            if time_left is not None and time_left <= 0:
                child.kill()
                child.wait()
                return lines, True
            ready = {key.fd for key, _ in selector.select(time_left)}
            if open_pipe and reading in ready:
                with contextlib.suppress(BlockingIOError):
                    got = os.read(reading, 1 << 16)
                    lines += got
                    if not got:
                        selector.unregister(reading)
                        open_pipe = False
                    continue
            if exit_descriptor.fileno() in ready:
                child.wait()
                with contextlib.suppress(BlockingIOError):
                    while open_pipe and (got := os.read(reading, 1 << 16)):
                        lines += got
                return lines, False


class _ExitDescriptor:
    """A descriptor that is ready to read when the process has ended."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._descriptor = os.pidfd_open(child.pid)

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)


@contextlib.contextmanager
def _in_memory(name: str, data: bytes) -> Iterator[int]:
    """A descriptor of a file that lies in memory only."""
    descriptor = os.memfd_create(name, 0)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def signals_for_the_program() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Inside, signals go to the program. Ctrl-C reaches it by itself, as one of the terminal's group."""
    programs: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: object) -> None:
        for program in programs:
            program.send_signal(number)

    previous_handlers = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    previous_handlers[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield programs
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
