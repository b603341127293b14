"""What tells a process to save and end: a signal, or the death of the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from gridstride.train.errors import TrainFailed

AGENT = "GRIDSTRIDE_AGENT"  # its process number, in the ranks' environment
_PARENT_DIED = 1  # PR_SET_PDEATHSIG, prctl(2)


def end_with_parent() -> None:
    """Have the kernel send a SIGTERM to this process when its parent dies: a killed agent cannot end its ranks."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PARENT_DIED, signal.SIGTERM, 0, 0, 0)
    if os.environ.get(AGENT, str(os.getppid())) != str(os.getppid()):  # it died before it could be asked for
        raise TrainFailed("the process that started this rank is gone")
