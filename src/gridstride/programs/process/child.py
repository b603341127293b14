"""The process of a program: loads it beside our libcudart and is it until it ends.

Started by `programs/run.py` with one JSON object, or before there is one (`early_process.py`). The exit status is the
program's.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any

from gridstride.programs.process import early_process

if TYPE_CHECKING:
    from gridstride.programs.calls.activity import Activity

_PR_SET_PDEATHSIG = 1
CANNOT_START = 125
"""Exit status where the program could not be loaded; `timeout` and `docker run` use the same."""


class ProgramOutput:
    """Python's sys.stdout while the program runs: what kernels print goes where the program's printf goes."""

    encoding = "utf-8"

    def __init__(self, runtime: ctypes.CDLL, activity: Activity) -> None:
        self._activity = activity
        self._print = runtime.gs_print
        self._print.argtypes, self._print.restype = [ctypes.c_char_p, ctypes.c_uint64], None

    def write(self, text: str) -> int:
        data = text.encode("utf-8", "surrogateescape")
        self._print(data, len(data))
        self._activity.kernel_lines += data.count(b"\n")
        return len(text)

    def flush(self) -> None:
        """C flushes its own buffer."""


def begin_and_wait(channel: int) -> None:
    """Loads what every program needs, and is the one that it is told of then. Never comes back."""
    _settle(is_awaited=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _load()
    words, descriptors = early_process.received(channel)
    order = json.loads(words)
    runtime, program, order["reports"] = descriptors
    order["runtime"], order["program"] = (f"/proc/self/fd/{number}" for number in (runtime, program))
    if order["stdout"] is not None:
        os.dup2(order["stdout"], 1)
    main(order)


def _settle(*, is_awaited: bool) -> None:
    if is_awaited:  # by who started it, or that one is gone
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGPIPE):  # Python's own handlers would wait for Python code to go on
        signal.signal(number, signal.SIG_DFL)


def _load() -> Any:
    """The virtual GPU and what compiles for it: `board_of`, `Reports`, `tiers`, the watcher of launches."""
    from gridstride.programs.process.board_of import board_of
    from gridstride.programs.process.reports import Reports
    from gridstride.virtual.machine import engine, tiers
    from gridstride.virtual.machine.watch import WATCHER

    with contextlib.suppress(RuntimeError):  # of a processor that it cannot run on: told of a launch
        engine.version()
    return board_of, Reports, tiers, WATCHER


def main(order: dict[str, Any]) -> None:
    """Never comes back."""
    _settle(is_awaited=order["reports"] is not None)
    board_of, Reports, tiers, watcher = _load()
    watcher.takes_signals = False
    runtime = ctypes.CDLL(order["runtime"], mode=ctypes.RTLD_GLOBAL)
    reports = Reports(to=order["reports"], set_fault=runtime.gs_set_fault)
    warnings.showwarning = lambda message, *_, **__: reports.say(f"warning: {message}")
    board = board_of(order, runtime, reports)
    runtime.gs_settle_at_exit.restype = None
    tiers.before_compiling.append(runtime.gs_settle_at_exit)
    sys.stdout = ProgramOutput(runtime, board.activity)
    words = [os.fsencode(word) for word in order["arguments"]]
    arguments = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    runtime.gs_run.restype = ctypes.c_char_p
    reason = runtime.gs_run(os.fsencode(order["program"]), len(words), arguments)
    reports.say(f"the program cannot be loaded: {reason.decode(errors='replace')}")
    os._exit(CANNOT_START)


if __name__ == "__main__":
    if sys.argv[1] == early_process.WAITS:
        begin_and_wait(int(sys.argv[2]))
    main(json.loads(sys.argv[1]))
