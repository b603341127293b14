"""What a worker may use, and how the system is told."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

_OPEN_FILES = 128
_ADDRESSES = 16  # bytes of addresses for each byte of memory: the virtual GPU reserves far more than it touches


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one worker. Seconds by the clock are for one request each, those of the processor for all together.

    `memory` is what it may hold at a time, `device_memory` the virtual GPU's; `file_bytes` the size of any one file,
    `scratch` that of all files in its folder, `threads` those of its process; `printed` how much of what kernels print
    is shown.
    """

    compile_seconds: float = 30.0
    launch_seconds: float = 10.0
    case_seconds: float = 40.0
    processor_seconds: int = 600
    memory: int = 4 << 30
    device_memory: int = 2 << 30
    file_bytes: int = 256 << 20
    scratch: int = 1 << 30
    threads: int = 64
    printed: int = 64 << 10


def restrict(limits: Limits) -> None:
    """Put the calling process under the limits that the system keeps; the rest is for its parent to watch."""
    cpu = limits.processor_seconds
    addresses = (limits.memory + limits.device_memory) * _ADDRESSES
    for what, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, addresses),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        _lower(what, most)
    # The system counts a user's processes, not a worker's: as many more as there are now would be a race with others.
    # The filter of system calls refuses new processes; the parent watches the number of threads.


def _lower(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


@dataclass(frozen=True, slots=True)
class Use:
    """What a process uses now: bytes of memory, threads."""

    memory: int
    threads: int


def use_of(process: int) -> Use | None:
    """What a process uses; None where it is gone or the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Use(int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), int(fields[17]))
