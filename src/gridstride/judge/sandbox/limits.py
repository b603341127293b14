"""What a worker may use, and how the system is told."""

from __future__ import annotations

import resource
from dataclasses import dataclass

from gridstride.virtual.machine.memory.addresses import limit

_OPEN_FILES = 128
_HELD = (b"VmRSS", b"VmSwap", b"VmPTE", b"HugetlbPages")
_ADDRESSES = 32  # bytes of addresses for each of memory: each resident block of a cluster has a window of 16 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
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


def cramped(limits: WorkerLimits) -> str:
    """The limit of the user's own that a worker may reach before its limits, with the way out; empty where there is
    none. What fails for it is not the kernel's fault.
    """
    return limit(below=addresses(limits))


def addresses(limits: WorkerLimits) -> int:
    """Bytes of addresses that a worker may have."""
    return (limits.memory + limits.device_memory) * _ADDRESSES


def restrict(limits: WorkerLimits) -> None:
    """Put the calling process under the limits that the system keeps; the rest is for its parent to watch."""
    for what, most in (
        (resource.RLIMIT_CPU, limits.processor_seconds),
        (resource.RLIMIT_AS, addresses(limits)),
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
    """What a process uses now: bytes of memory, threads. `headless`: its main thread has ended and others have not, so
    that the system no longer says how much memory it holds.
    """

    memory: int
    threads: int
    headless: bool = False


def use_of(process: int) -> Use | None:
    """What a process uses; None where it is gone or the system does not say. Memory that was swapped out, and that of
    page tables, is held as well.
    """
    try:
        with open(f"/proc/{process}/status", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    fields = {name: value.split() for name, _, value in (line.partition(b":") for line in lines)}
    threads = int(fields[b"Threads"][0])
    memory = sum(int(fields[name][0]) << 10 for name in _HELD if name in fields)
    return Use(memory, threads, fields[b"State"][0] == b"Z" and threads > 1)


def seconds_without_processor(process: int) -> float:
    """How long a process' main thread has been ready and had no processor, since it began; 0 where nothing says so."""
    try:
        with open(f"/proc/{process}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
