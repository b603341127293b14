"""Landlock: a process gives up the file system and the network, but for the folders it names.

Numbers and layouts: the kernel's include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst. What a
kernel's version of Landlock does not know is left out, and `lock` says which version it was.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15  # and truncate, ioctl_dev
_FIRST_VERSION = (1 << 13) - 1  # execute to make_sym
_SINCE = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # refer, truncate, ioctl_dev
_ALL_OF_NETWORK = 0b11  # bind and connect of TCP, since version 4
_QUIET = 1  # what is refused is not written to the system's log, which could be filled so; since version 7
_ALL_SCOPES = 0b11  # abstract Unix sockets, signals; since version 6

READ = READ_FILE | READ_DIR
READ_AND_RUN = READ | EXECUTE
EVERYTHING = _FIRST_VERSION | sum(_SINCE.values())
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
# What is written keeps its name, so that it can be counted.
ADD = READ | WRITE_FILE | MAKE_DIR | MAKE_REG | 1 << 14


def version() -> int:
    """Which version of Landlock this kernel has; 0 where it has none."""
    abi: int = _system_call(_CREATE, None, 0, _VERSION_FLAG)
    return max(abi, 0)


def lock(rules: Iterable[tuple[str, int]], *, at_most: int | None = None) -> int:
    """Give up everything but these paths, each with what may be done beneath it; returns Landlock's version.

    `at_most`: take the kernel's Landlock for no newer than this, to see what it lacks held by other means.

    It cannot be undone, holds for the threads started later, and needs a process of one thread. 0 where the kernel has
    no Landlock and nothing was done; OSError where it refuses.
    """
    have = version() if at_most is None else min(version(), at_most)
    if not have:
        return 0
    handled = _FIRST_VERSION | sum(right for since, right in _SINCE.items() if have >= since)
    network = _ALL_OF_NETWORK if have >= 4 else 0
    scopes = _ALL_SCOPES if have >= 6 else 0
    attributes = struct.pack("QQQ", handled, network, scopes)[: 24 if have >= 6 else 16 if have >= 4 else 8]
    ruleset = _checked(_system_call(_CREATE, attributes, len(attributes), 0))
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        _no_new_privileges()
        _checked(_system_call(_RESTRICT, ruleset, _QUIET if have >= 7 else 0, 0))
    finally:
        os.close(ruleset)
    return have


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        _checked(_system_call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0))
    finally:
        os.close(descriptor)


def _no_new_privileges() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")


def _system_call(number: int, *arguments: int | bytes | None) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    packed = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = library.syscall(ctypes.c_long(number), *packed)
    return result


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
