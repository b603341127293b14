"""A stranger's program, compiled and run in a room of its own: what `gridstride run` does with all of one's rights.

It sees Python, CUDA's libraries and one folder, reaches no network, starts no process, and is ended when it takes too
much. What comes back is text and numbers that are looked at before they are believed.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.compiler.cache import cache_root
from gridstride.judge.finding_kinds import KINDS
from gridstride.judge.sandbox import landlock, scratch
from gridstride.judge.sandbox.client import CannotJudge
from gridstride.judge.sandbox.limits import WorkerLimits, use_of
from gridstride.judge.sandbox.printed import WorkerOutput
from gridstride.judge.sandbox.visible import environment, folders
from gridstride.plain import plain
from gridstride.programs.calls.activity import is_activity_name
from gridstride.programs.process.confined_child import REFUSED
from gridstride.programs.process.fork_server import FIRST, Child, ForkServer
from gridstride.programs.run import Built, Ended, Reported, Settings, build, reported
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import Compiling
from gridstride.programs.toolchain.compiler_room import CompilerRoom
from gridstride.programs.toolchain.precompiled import PrecompiledHeaders
from gridstride.programs.toolchain.runtime_library import SONAME
from gridstride.programs.toolchain.wheels import toolchain

PRINTED = 1 << 20
"""Bytes of each of stdout and stderr that are kept."""
_POLL = 0.03  # seconds between two looks at what the program uses
_LOOK = 0.3  # seconds between two looks at how much it wrote
_LONGEST = 2_000  # characters of a finding's message
_MOST_FINDINGS = 32


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended in its room. `stopped` is why it was ended, in words; empty where it ended by itself.
    `lost` are bytes of stdout beyond those that are kept.
    """

    ended: Ended
    stdout: str
    stderr: str
    lost: int = 0
    stopped: str = ""


class ProgramRoom(ClosedAtEnd):
    """A folder for one program: built once, run as often as wanted; gone when it is closed."""

    def __init__(self, *, chip: str, limits: WorkerLimits | None = None) -> None:
        self.chip = chip
        self.limits = limits or WorkerLimits(processor_seconds=120)
        self._root = Path(os.path.realpath(tempfile.mkdtemp(prefix="gridstride-")))
        self.data = self._root / "data"
        """The program's own folder: its files are put here, and what it writes is found here."""
        for name in ("data", "built", "cache", "scratch", "server"):
            (self._root / name).mkdir()
        self._server = ForkServer(str(self._root / "server"))
        self._built: Built | None = None

    def close(self) -> None:
        """End what runs, and remove the folder."""
        self._server.close()
        scratch.remove(str(self._root))

    def warm_up(self) -> None:
        """Have what every run needs loaded while something else is done."""
        self._server.warm_up()

    def build(self, file: Path) -> None:
        """Compile and link one file; MissingToolchain, BuildFailed."""
        from gridstride.virtual.chips import chip

        headers = PrecompiledHeaders(cache_root() / "precompiled")
        room = CompilerRoom(toolchain(), file.resolve(), self._server, (headers.folder,))
        arch = chip(self.chip).properties.arch
        how = Compiling(room.execute, headers)
        built = build([file.resolve()], Options(), arch=arch, progress=lambda _: None, how=how)
        (self._root / "built" / "program.so").write_bytes(built.program)
        (self._root / "built" / SONAME).write_bytes(built.runtime)
        self._built = built

    def clear(self) -> None:
        """Empty the program's folder."""
        scratch.remove(str(self.data))
        self.data.mkdir(exist_ok=True)

    def run(self, arguments: Sequence[str], settings: Settings) -> Outcome:
        """Run the program to its end, or until it takes more than it may; CannotJudge where it cannot be locked in."""
        assert self._built is not None
        with contextlib.ExitStack() as stack:
            (stdout, stdout_end), (stderr, stderr_end), (reports, reports_end) = (_pipe(stack) for _ in range(3))
            order = replace(settings, chip=self.chip).order(
                self._built.tools, arguments, program=str(self._root / "built" / "program.so"),
                runtime=str(self._root / "built" / SONAME), reports=FIRST,
            )  # fmt: skip
            order["time_limit"] = self.limits.launch_seconds
            process = self._server.start("program", self._process_request(order), stdout=stdout_end.number,
                                         stderr=stderr_end.number, more=(reports_end.number,))  # fmt: skip
            stack.callback(process.close)
            for descriptor in (stdout_end, stderr_end, reports_end):
                descriptor.close()
            streams = [WorkerOutput(stream.number, PRINTED) for stream in (stdout, stderr, reports)]
            began = time.monotonic()
            try:
                stopped = self._wait(process, streams, settings.time_limit or math.inf)
            finally:
                process.kill()
                code = process.wait()
                for stream in streams:
                    stream.take()
            assert code is not None
            return _outcome(code, time.monotonic() - began, streams, stopped)

    def _process_request(self, order: dict[str, Any]) -> dict[str, Any]:
        """What the program's process is told."""
        home = str(self._root / "scratch")
        visible_folders = [*folders(home, cache=False), (str(self._root / "built"), landlock.READ),
                (str(self.data), landlock.ADD | landlock.REMOVE_FILE),
                (str(self._root / "cache"), landlock.EVERYTHING & ~landlock.EXECUTE)]  # fmt: skip
        return {"order": order, "limits": asdict(self.limits), "scratch": home, "cwd": home, "folders": visible_folders,
                "cache": str(self._root / "cache"), "environment": environment(home, cache=False)}  # fmt: skip

    def _wait(self, process: Child, streams: Sequence[WorkerOutput], seconds: float) -> str:
        """Wait for the program's end; why it must be ended, where it must be."""
        deadline = time.monotonic() + seconds
        look_again = 0.0
        while process.poll() is None:
            if time.monotonic() > deadline:
                return f"it had not ended after {seconds:g} s"
            use = use_of(process.pid)
            if use is not None and use.memory > self.limits.memory:
                return f"it took more than {self.limits.memory >> 20} MiB of memory"
            if use is not None and use.threads > self.limits.threads:
                return f"it started more than {self.limits.threads} threads"
            if time.monotonic() > look_again:
                if excess := self._files():
                    return excess
                look_again = time.monotonic() + _LOOK
            _sleep([process.ended, *(descriptor for stream in streams for descriptor in stream.descriptors)])
            for stream in streams:
                stream.take()
        return ""

    def _files(self) -> str:
        """What is too much of what it wrote; empty where nothing is."""
        try:
            used = scratch.bytes_below(str(self._root))
        except scratch.TooMuchError as error:
            return f"it made {error}"
        return f"it wrote more than {self.limits.scratch >> 20} MiB of files" if used > self.limits.scratch else ""


class _Descriptor:
    """Closed once, however often."""

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
        self.number = -1


def _pipe(stack: contextlib.ExitStack) -> tuple[_Descriptor, _Descriptor]:
    """Where is read and where is written; both are closed with the stack."""
    reading, writing = (_Descriptor(number) for number in os.pipe())
    for descriptor in (reading, writing):
        stack.callback(descriptor.close)
    return reading, writing


def _sleep(descriptors: Sequence[int]) -> None:
    """Until something can be read, and not for long."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    poll.poll(1000 * _POLL)


def _outcome(code: int, seconds: float, streams: Sequence[WorkerOutput], stopped: str) -> Outcome:
    lost = streams[0].lost
    stdout, stderr, report_lines = (stream.kept() for stream in streams)
    believed = _validated_report(report_lines.encode(errors="replace"))
    number = -code if code < 0 else None
    exit_ = Ended(128 - code if code < 0 else code, seconds, number, bool(stopped), believed.findings,
                  believed.activity, believed.timeline, believed.launches)  # fmt: skip
    return Outcome(exit_, stdout, stderr, lost, stopped)


def _validated_report(lines: bytes) -> Reported:
    """What was reported, as far as it is what a report is: the process belongs to a stranger. What its launches are is
    looked at by who shows them.
    """
    try:
        report = reported(lines)
    except (ValueError, RecursionError, TypeError, AttributeError):
        return Reported()
    for finding in report.findings:
        if REFUSED in finding:
            raise CannotJudge(f"no program can be run here: its process could not lock itself in: {finding[REFUSED]}")
    findings = tuple(_finding(finding) for finding in report.findings[:_MOST_FINDINGS] if finding.get("kind") in KINDS)
    counts = _counts(report.activity) if isinstance(report.activity, Mapping) else {}
    timeline = report.timeline if isinstance(report.timeline, dict) else {}
    return Reported(findings, counts, timeline, report.launches if isinstance(report.launches, list) else [])


def _finding(words: Mapping[str, Any]) -> dict[str, Any]:
    line = words.get("line")
    return {"kind": words["kind"], "message": plain(str(words.get("message", "")))[:_LONGEST],
            "line": line if isinstance(line, int) and 0 < line < 1 << 31 else None,
            "file": str(words["file"]) if words.get("file") else None,
            "kernel": plain(str(words.get("kernel") or ""))[:_LONGEST]}  # fmt: skip


def _counts(words: Mapping[str, Any]) -> dict[str, float]:
    counts = {name: words[name] for name in words if is_activity_name(name)}
    return {name: value for name, value in counts.items() if isinstance(value, int | float) and math.isfinite(value)}
