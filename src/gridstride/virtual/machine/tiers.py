"""A long kernel's first code is compiled quickly; once that has run for as long as better code takes to compile, it is
replaced, in the middle of a launch too: the blocks that start from then on run the better code.

So a kernel never takes more than about twice what it would have taken with the better choice made at the start.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridstride.virtual.machine import engine
from gridstride.virtual.machine.frames import PROLOGUE, frame_bytes

QUICK_FROM = 2000
"""Lines of IR from which on a kernel's first code is compiled quickly; fewer are optimised in 0.15 s."""

SECONDS_PER_LINE = 80e-6
"""What a line of IR takes to optimise and compile: 60 to 120 µs on a server core of 2023."""

QUICK_FOR_EVER_FROM = 50_000
"""Lines of IR from which on nothing is replaced: where most of them are one block without a branch, LLVM takes minutes
to choose its instructions, and a process cannot end before."""

OBSERVED_WAITS = 4
"""How many times as long observed code runs before it is replaced: most of its time goes into the runtime, so that it
gains less."""

SPARE_STACK = 256 << 10
"""Of a warp's stack, what a kernel's own frame may take beyond its estimate."""

_COMPILING = threading.Lock()
"""Held while better code is compiled: a fork waits for it, or LLVM's lock would stay taken in the child for ever."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_COMPILING.acquire, after_in_parent=_COMPILING.release, after_in_child=_COMPILING.release
    )

_ENDING = threading.Event()

before_compiling: list[Callable[[], None]] = []
"""Called on the thread that is about to compile better code. Python waits for that thread when it ends; where C's
exit() ends the process, one of these sees to it that `settle` is called before LLVM's destructors are."""


def settle() -> None:
    """Waits for the better code that is being compiled, and has no other begun: LLVM must not be at work when it is
    taken down.
    """
    _ENDING.set()
    with _COMPILING:
        pass


def fits(code: engine.MachineCode, frames: Mapping[str, int]) -> bool:
    """True where the functions' frames are no larger than what warps have stack for."""
    for name, limit in frames.items():
        used = frame_bytes(ctypes.string_at(code.address(name), PROLOGUE), platform.machine())
        if used > limit + (SPARE_STACK if name == "kernel" else 0):
            return False
    return True


class Replacement:
    """When the first code of a kernel gives way. `cost`: seconds that `compile` takes, which makes better code."""

    def __init__(
        self, cost: float, compile: Callable[[], engine.MachineCode], install: Callable[[engine.MachineCode], None]
    ) -> None:
        self._remaining, self._compile, self._install = cost, compile, install
        self._running: dict[int, np.ndarray[Any, Any]] = {}
        self._begun = False
        self.done = threading.Event()

    @contextmanager
    def watch(self, launch: np.ndarray[Any, Any]) -> Iterator[None]:
        """Counts the time that the body runs a launch record with the first code, and has it replaced in time."""
        if self.done.is_set():
            yield
            return
        self._running[id(launch)] = launch
        # Not a daemon: LLVM must not be at work while the process takes it down. One is enough, however many launches
        # there are while it waits for others' code to be compiled.
        timer = None if self._begun else threading.Timer(max(0.0, self._remaining), self._replace)
        start = time.monotonic()
        if timer is not None:
            timer.start()
        try:
            yield
        finally:
            del self._running[id(launch)]
            self._remaining -= time.monotonic() - start
            if timer is not None and self._remaining > 0:
                timer.cancel()
            else:
                self._begun = True

    def _replace(self) -> None:
        self._begun = True
        with _COMPILING:
            if self.done.is_set() or _ENDING.is_set():
                return  # another launch of the kernel has had it done, or nobody will run it any more
            for call in before_compiling:
                call()
            code = self._compile()
            self._install(code)
            self.done.set()
        for launch in list(self._running.values()):
            launch["entry"] = code.kernel
