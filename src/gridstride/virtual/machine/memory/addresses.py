"""Addresses that are reserved now and take memory only as they are touched, and what a limit of the user's leaves."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import resource
import sys
from pathlib import Path

from gridstride.protocol import OutOfAddressSpace

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Python names the flag from 3.13 on only; 0x4000 is Linux' on x86-64 and AArch64."""

_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
_STRICT = "2"


def reserve(size: int) -> tuple[mmap.mmap, int]:
    """Zeroed, readable memory that takes no room until it is touched, and its address; OutOfAddressSpace."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except OSError as error:
        raise OutOfAddressSpace(
            f"{_mib(size)} of addresses cannot be reserved for the virtual GPU: {limit() or error.strerror}"
        ) from None
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def affordable(size: int, *, least: int, times: int = 2) -> int:
    """The first of `size`, its half, its quarter … of which so many times as much can be reserved now, or `least`.

    Twice: the other half is for what is reserved later, for shadows, stacks and the compilers.
    """
    while size // 2 >= least:
        with contextlib.suppress(OSError):
            mmap.mmap(-1, times * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE).close()
            return size
        size //= 2
    return size


def limit(*, below: int = resource.RLIM_INFINITY) -> str:
    """What keeps this process from having all the addresses it asks for, and the way out; empty where nothing does, or
    only a limit that is not `below` so many bytes.
    """
    for what, letter in ((resource.RLIMIT_AS, "v"), (resource.RLIMIT_DATA, "d")):
        most, _ = resource.getrlimit(what)
        if most != resource.RLIM_INFINITY and (below == resource.RLIM_INFINITY or most < below):
            return (
                f"this process may have {_mib(most)} of them in all (ulimit -{letter} {most >> 10}); "
                f"raise that, or lift it with `ulimit -{letter} unlimited`"
            )
    with contextlib.suppress(OSError):
        if _OVERCOMMIT.read_text().strip() == _STRICT:
            return "the system lets nobody reserve more than it has; `sysctl vm.overcommit_memory=0` changes that"
    return ""


def _mib(size: int) -> str:
    return f"{size >> 20:,} MiB"
