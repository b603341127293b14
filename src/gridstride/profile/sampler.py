"""A thread beside the program that notes, every few milliseconds, which of its lines is being executed.

The PyTorch profiler's own stacks cost every Python call some time and so distort what is measured; this costs one lock
hand-over per sample, and knows the line, not only the function.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

_PERIOD = 0.005  # seconds
_SWITCH = 0.0001  # seconds in which Python hands the interpreter over: in the usual 5 ms the program has moved on
_DEEPEST = 8  # lines kept of a stack
_LIBRARY = (
    *(str(Path(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(__file__).parent),
    "<",  # frozen modules, and code made from text
)
_IMPORTING = "<frozen importlib"
_LOOP = (
    ("/torch/utils/data/dataloader.py", "__next__"),
    ("/torch/optim/", "step"),
    ("/torch/nn/modules/module.py", "_call_impl"),
)
_OWN_WORK = 200  # samples in the program's own lines, not in imports or loading, after which it is taken to be at work
_ANY_WORK = 1000  # the same where a library's line is the innermost each time, as it is in loading too

Sample = tuple[int, tuple[str, ...]]  # nanoseconds of the system's clock; the program's lines, innermost first


class StackSampler(threading.Thread):
    """Samples the main thread until it is told to stop; `tick` is called after each sample."""

    def __init__(self, tick: Callable[[], None]) -> None:
        super().__init__(name="gridstride-sampler", daemon=True)
        self.samples: list[Sample] = []
        self.keep = False
        self.loop_seen: float | None = None  # when the program was first seen at its real work
        self._own_work = self._any_work = 0
        self._at: tuple[CodeType, int] | None = None  # the program's instruction of the last sample
        self._tick = tick
        self._over = threading.Event()
        self._main = threading.main_thread().ident
        self._own: dict[CodeType, bool] = {}

    def run(self) -> None:
        previous_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(previous_interval, _SWITCH))
        try:
            self._run()
        finally:
            sys.setswitchinterval(previous_interval)

    def _run(self) -> None:
        while not self._over.wait(_PERIOD):
            frame = sys._current_frames().get(self._main or 0)
            now = time.time_ns()
            lines = self._lines(frame)
            if self.keep and lines:
                self.samples.append((now, lines))
            self._tick()

    def stop(self) -> None:
        """No sample is taken after this returns, but for one that is being taken."""
        self._over.set()

    def _lines(self, frame: FrameType | None) -> tuple[str, ...]:
        lines: list[str] = []
        if self.loop_seen is None:
            self._count_working_samples(frame)
        while frame is not None:
            code = frame.f_code
            if self.loop_seen is None and _in_loop(code):
                self.loop_seen = time.monotonic()
            if len(lines) < _DEEPEST and self._is_own(code):
                lines.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
            frame = frame.f_back
        return tuple(lines)

    def _count_working_samples(self, frame: FrameType | None) -> None:
        """Count samples of a program that does not wait for an import or for one long call, which loading is.

        A loop over a library's functions has never a line of its own innermost, but comes back to other places.
        """
        own, innermost = frame, True
        while own is not None and not self._is_own(own.f_code):
            if own.f_code.co_filename.startswith(_IMPORTING):
                return
            own, innermost = own.f_back, False
        if own is None:
            return
        at = own.f_code, own.f_lasti
        self._any_work += 1
        self._own_work += innermost or (self._at is not None and at != self._at)
        self._at = at
        if self._own_work > _OWN_WORK or self._any_work > _ANY_WORK:
            self.loop_seen = time.monotonic()

    def _is_own(self, code: CodeType) -> bool:
        if code not in self._own:
            file = code.co_filename
            self._own[code] = not file.startswith(_LIBRARY)
        return self._own[code]


def _in_loop(code: CodeType) -> bool:
    return any(code.co_name == name and file in code.co_filename for file, name in _LOOP)
