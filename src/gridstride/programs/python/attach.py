"""In the process of a Python program: the virtual GPU, and the libraries by whose names it is found."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from gridstride.programs.process.board_of import board_of
from gridstride.programs.process.child import CANNOT_START
from gridstride.programs.process.reports import Reports
from gridstride.programs.python.bindings import replace_static_runtime
from gridstride.programs.python.hints import give_hints
from gridstride.programs.python.library_names import NAMES
from gridstride.programs.toolchain.runtime_library import SONAME
from gridstride.virtual.machine import tiers

if TYPE_CHECKING:
    from gridstride.programs.calls.activity import Activity
    from gridstride.programs.calls.board import Board

_PR_SET_PDEATHSIG = 1
_STDOUT = 1


class KernelOutput:
    """Where kernels print: to the process' stdout past Python's, whatever sys.stdout is, as the driver does it."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    def write(self, text: str) -> int:
        """What the script has printed before comes first."""
        for stream in {sys.stdout, sys.__stdout__}:
            if stream is not None:
                stream.flush()
        data = text.encode("utf-8", "surrogateescape")
        self._activity.kernel_lines += data.count(b"\n")
        while data:
            data = data[os.write(_STDOUT, data) :]
        return len(text)


def begin(text: str) -> None:
    """Before the script's first line; `text` is the order as JSON."""
    order = json.loads(text)
    if os.getppid() == order["starter"]:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        order["reports"] = None  # a process that the script started: its descriptors are its own
    try:
        _attach(order)
    except OSError as error:
        print(f"gridstride: the virtual GPU cannot be loaded: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(CANNOT_START)


def _attach(order: dict[str, Any]) -> None:
    paths = [os.path.join(order["runtime"], name) for name in (SONAME, *NAMES)]
    # global, as the driver's functions are looked for by name in all that is loaded so
    runtime, *_ = [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in paths]
    board = board_of(order, runtime, Reports(to=order["reports"], set_fault=runtime.gs_set_fault))
    board.leaks_are_findings = False  # Python gives memory back when it likes
    board.interrupted = runtime.gs_interrupt_behind_launch
    board.device.output.to = KernelOutput(board.activity)
    os.register_at_fork(after_in_child=runtime.gs_forked)
    replace_static_runtime(runtime)
    give_hints()
    atexit.register(_end, board, runtime)


def _end(board: Board, runtime: ctypes.CDLL) -> None:
    """Behind the script's own handlers. What the packages destroy later no longer comes here."""
    board.finish()
    tiers.settle()
    runtime.gs_retire_board()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(board))  # its memory is the script's to the end
