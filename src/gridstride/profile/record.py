"""Runs a program in a process of its own under the PyTorch profiler, and brings back its trace."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BOOT = (
    "import sys; source, request = sys.argv[1:3]; sys.path.append(source); "
    "from gridstride.profile.child import main; main(request)"
)
_LATE = 60.0  # seconds after the window's end in which a program must come back to Python once
_GRACE = 10.0  # seconds that a program gets to wind down once its trace is there


class RecordError(Exception):
    """A program that left no trace; the message says why. Its own words are on stderr already."""


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How the program ended: finished, exited (with a code that is not 0), raised, stopped (its window was over),
    or interrupted; `said` in the program's words.
    """

    end: str
    said: str


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What to run, and which part of it to record: `seconds` of its loop, beginning `after` seconds at the earliest."""

    program: str
    args: Sequence[str]
    after: float
    seconds: float
    module: bool = False


def record(request: ProfileRequest, folder: Path, *, tell: Callable[[str], None]) -> ProgramOutcome:
    """Run it; the trace is `trace.json` in the folder. RecordError where there is none, KeyboardInterrupt at once on a
    second Ctrl-C.
    """
    source = str(Path(__file__).resolve().parent.parent.parent)
    orders = {"program": request.program, "args": list(request.args), "module": request.module, "folder": str(folder),
             "after": request.after, "seconds": request.seconds}  # fmt: skip
    # A session of its own: Ctrl-C reaches it only through this process, and nothing that it starts is left behind.
    child = subprocess.Popen(
        [sys.executable, "-c", _BOOT, source, json.dumps(orders)], stdout=sys.stderr.fileno(), start_new_session=True
    )
    try:
        interrupted = _wait(child, request, folder, tell)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if interrupted and not (folder / "outcome.json").exists():
        raise KeyboardInterrupt
    return _outcome(child.returncode, request, folder)


def _wait(child: subprocess.Popen[bytes], request: ProfileRequest, folder: Path, tell: Callable[[str], None]) -> bool:
    """Until it has ended, or has been asked to and had its time for it; says whether it was interrupted."""
    watch = _Watch(folder, request, tell)
    interrupted = False
    while child.poll() is None:
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.1)
            if watch.enough():
                break
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            tell("interrupted: writing what was recorded; once more to leave without it")
            child.send_signal(signal.SIGINT)
    return interrupted


class _Watch:
    """Follows the child's state and knows when it has had enough time."""

    def __init__(self, folder: Path, request: ProfileRequest, tell: Callable[[str], None]) -> None:
        self._folder, self._tell = folder, tell
        self._longest = request.after + request.seconds + _LATE
        self._state, self._since = "", time.monotonic()

    def enough(self) -> bool:
        """Whether the child has to be ended."""
        self._poll()
        now = time.monotonic() - self._since
        if self._state == "done":
            return now > _GRACE
        return self._state == "running" and now > self._longest

    def _poll(self) -> None:
        with contextlib.suppress(OSError):
            state = (self._folder / "state").read_text()
            if state != self._state:
                self._state, self._since = state, time.monotonic()
                if state == "stopping":
                    self._tell("writing the trace")


def _outcome(code: int, request: ProfileRequest, folder: Path) -> ProgramOutcome:
    path = folder / "outcome.json"
    if not path.exists():
        raise RecordError(_lost(code, request, folder))
    report = json.loads(path.read_text())
    if report["end"] == "interrupted" and not report["recorded"]:
        raise KeyboardInterrupt
    if report["end"] != "stopped" and not report["recorded"]:
        raise RecordError(_too_early(report, request))
    return ProgramOutcome(report["end"], report.get("said", ""))


def _too_early(report: dict[str, Any], request: ProfileRequest) -> str:
    """The program ended before anything was recorded."""
    if report["end"] == "raised":
        return f"{request.program} failed before anything was recorded: {report['said']}"
    reason = f"{request.program} ended after {report['seconds']:.1f} s"
    return f"{reason}, before recording began: --after {request.after:g} is too late for it"


def _lost(code: int, request: ProfileRequest, folder: Path) -> str:
    """Why there is no trace."""
    name = request.program
    state = (folder / "state").read_text() if (folder / "state").exists() else ""
    if code > 0 and not state:
        return f"{name} was not started: PyTorch cannot be imported or its profiler not be made (see above)"
    if code == -signal.SIGKILL and state == "running":
        return f"{name} was ended by SIGKILL (out of memory?), or never came back to Python to be recorded"
    if code < 0:
        return f"{name} was ended by {signal.Signals(-code).name}, and its recording with it"
    return f"{name} left with os._exit({code}), and its recording with it: let it return or call sys.exit"
