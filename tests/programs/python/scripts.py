"""What tests of Python programs share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


NUMBA = """
import numpy as np
from numba import cuda, config
config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 0
"""


def printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Its lines, of a program that ended well."""
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


BINDINGS = """
import ctypes
import numpy as np
from cuda.bindings import driver, nvrtc, runtime

def ok(answer):
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]
"""
