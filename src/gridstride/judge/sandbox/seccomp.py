"""The filter of system calls: a program for the kernel's BPF machine that a process puts itself under for good.

Layouts and numbers: the kernel's include/uapi/linux/{seccomp,filter,audit}.h, Documentation/userspace-api/
seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

from gridstride.judge.sandbox import calls

_COLUMNS = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # in calls.py, and the audit architecture
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # ld abs, jeq k, jset k, ret k
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in seccomp_data
_MODE_FILTER, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 2, 22, 38
_CLONE_THREAD = 0x10000
_FIONBIO = 0x5421  # makes a descriptor wait or not wait
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, k


def available() -> bool:
    """Whether there is a filter for this processor and a kernel that takes it."""
    if platform.machine() not in _COLUMNS:
        return False
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail") as file:
            return "errno" in file.read()
    except OSError:
        return False


def lock() -> None:
    """Put the calling thread, and all that it starts, under the filter; OSError where the kernel refuses."""
    program = b"".join(struct.pack("HBBI", *each) for each in instructions(os.getpid(), platform.machine()))
    text = ctypes.create_string_buffer(program, len(program))

    class _Program(ctypes.Structure):
        _fields_ = (("count", ctypes.c_ushort), ("text", ctypes.c_void_p))

    given = _Program(len(program) // 8, ctypes.addressof(text))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or library.prctl(
        _PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(given), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "seccomp")


def instructions(process: int, machine: str) -> list[_Instruction]:
    """The filter for `process`: calls.PLAIN pass, a few pass with some arguments, the rest fail with EPERM."""
    column, architecture = _COLUMNS[machine]
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for numbers in calls.PLAIN.values():
        if numbers[column] != calls.NONE:
            program += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ALLOW)]
    program += _when(calls.CLONE3[column], [_fails(errno.ENOSYS)])  # its flags lie in memory: libraries then use clone
    program += _when(calls.IOCTL[column], [_low(1), (_EQUAL, 0, 1, _FIONBIO), _passes(), _fails(errno.ENOTTY)])
    program += _when(calls.CLONE[column], [_low(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), _passes(), _fails(errno.EPERM)])
    program += _when(calls.PRCTL[column], _one_of(0, (_PR_SET_NAME, _PR_SET_VMA)))
    program += _when(calls.PRLIMIT64[column], [_low(2), (_EQUAL, 0, 3, 0), _high(2), (_EQUAL, 0, 1, 0), _passes(),
                                               _fails(errno.EPERM)])  # fmt: skip
    for number in (calls.KILL, calls.TGKILL):
        program += _when(number[column], _one_of(0, (process,)))
    return [*program, _fails(errno.EPERM)]


def _when(number: int, then: Sequence[_Instruction]) -> list[_Instruction]:
    return [(_EQUAL, 0, len(then), number), *then]


def _one_of(argument: int, values: Sequence[int]) -> list[_Instruction]:
    tests = [each for value in values for each in ((_EQUAL, 0, 1, value), _passes())]
    return [_low(argument), *tests, _fails(errno.EPERM)]


def _low(argument: int) -> _Instruction:
    return _LOAD, 0, 0, 16 + 8 * argument


def _high(argument: int) -> _Instruction:
    return _LOAD, 0, 0, 20 + 8 * argument


def _passes() -> _Instruction:
    return _RETURN, 0, 0, _ALLOW


def _fails(code: int) -> _Instruction:
    return _RETURN, 0, 0, _ERRNO | code
