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
_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06  # ld abs, jeq k, jset k, and k, ret k
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in seccomp_data
_MODE_FILTER, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 2, 22, 38
# As the C libraries start threads: all is shared, and nothing of the process is new. musl adds CLONE_DETACHED.
_THREADS = (0x3D0F00, 0x7D0F00)
_FIONBIO = 0x5421  # makes a descriptor wait or not wait
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC: not F_SETOWN and F_SETSIG, which have the kernel send signals to
# other processes (Landlock governs that from version 6 on), leases, locks, notices of changes and sizes of pipes.
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)
_F_SETFL, _O_ASYNC = 4, 0o20000
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_O_PATH, _O_TMPFILE = 0o10000000, 0o20000000  # the latter without O_DIRECTORY, whose bit differs between processors
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_HUGETLB = 0x01, 0x20, 0x40000
# Normal, random, sequential, willneed, dontneed, free, (no)hugepage, (dont)dump, populate_read, populate_write: not
# those that push memory out to where it is not counted, share it with others, or take pages from the machine.
_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 22, 23)

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
    program = b"".join(
        struct.pack("HBBI", *instruction) for instruction in instructions(os.getpid(), platform.machine())
    )
    text = ctypes.create_string_buffer(program, len(program))

    class _Program(ctypes.Structure):
        _fields_ = (("count", ctypes.c_ushort), ("text", ctypes.c_void_p))

    filter_program = _Program(len(program) // 8, ctypes.addressof(text))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or library.prctl(
        _PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filter_program), 0, 0
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
    program += _when(calls.CLONE[column], _one_of(0, _THREADS))
    program += _when(calls.PRCTL[column], _one_of(0, (_PR_SET_NAME, _PR_SET_VMA)))
    program += _when(calls.PRLIMIT64[column], _own_limits_asked(process))
    program += _when(calls.OPEN[column], _opens(1)) if calls.OPEN[column] != calls.NONE else []
    program += _when(calls.OPENAT[column], _opens(2))
    program += _when(calls.MMAP[column], _maps())
    program += _when(calls.FCNTL[column], _controls())
    program += _when(calls.MADVISE[column], _one_of(2, _ADVICE))
    for number in (calls.KILL, calls.TGKILL):
        program += _when(number[column], _one_of(0, (process,)))
    return [*program, _fails(errno.EPERM)]


def _when(number: int, instructions: Sequence[_Instruction]) -> list[_Instruction]:
    return [(_EQUAL, 0, len(instructions), number), *instructions]


def _one_of(argument: int, values: Sequence[int]) -> list[_Instruction]:
    tests = [instruction for value in values for instruction in ((_EQUAL, 0, 1, value), _passes())]
    return [_low(argument), *tests, _fails(errno.EPERM)]


def _opens(argument: int) -> list[_Instruction]:
    """Files by name, as what Landlock looks at says: to read, to write, or both.

    A file without a name would be held and not counted. Access mode 3 asks Landlock for nothing, O_TRUNC without
    writing for a right to truncate that it has from version 3 on only, and O_PATH for nothing either.
    """
    cut = _O_TRUNC  # and O_RDONLY, which is 0
    refused = [instruction for value in (_O_ACCMODE, _O_ACCMODE | _O_TRUNC, cut)
               for instruction in ((_EQUAL, 0, 1, value), _fails(errno.EPERM))]  # fmt: skip
    return [_low(argument), (_ANY_BIT, 0, 1, _O_PATH | _O_TMPFILE), _fails(errno.EPERM),
            (_AND, 0, 0, _O_ACCMODE | _O_TRUNC), *refused, _passes()]  # fmt: skip


def _maps() -> list[_Instruction]:
    """Memory that counts as the process' own: what is shared and no file's is held when it is not mapped any more, and
    the machine's huge pages are not counted.
    """
    shared_anonymous = _MAP_SHARED | _MAP_ANONYMOUS  # MAP_SHARED_VALIDATE has the bit of MAP_SHARED, too
    return [_low(3), (_ANY_BIT, 0, 1, _MAP_HUGETLB), _fails(errno.EPERM), (_AND, 0, 0, shared_anonymous),
            (_EQUAL, 0, 1, shared_anonymous), _fails(errno.EPERM), _passes()]  # fmt: skip


def _controls() -> list[_Instruction]:
    """Descriptors: copies and flags, and of the latter not O_ASYNC."""
    harmless = [instruction for value in _FCNTL_COMMANDS for instruction in ((_EQUAL, 0, 1, value), _passes())]
    return [_low(1), *harmless, (_EQUAL, 0, 3, _F_SETFL), _low(2), (_ANY_BIT, 1, 0, _O_ASYNC), _passes(),
            _fails(errno.EPERM)]  # fmt: skip


def _own_limits_asked(process: int) -> list[_Instruction]:
    """Limits of the process itself (by its number or 0), and none set."""
    own = [_low(0), (_EQUAL, 1, 0, 0), (_EQUAL, 0, 5, process)]
    return [*own, _low(2), (_EQUAL, 0, 3, 0), _high(2), (_EQUAL, 0, 1, 0), _passes(), _fails(errno.EPERM)]


def _low(argument: int) -> _Instruction:
    return _LOAD, 0, 0, 16 + 8 * argument


def _high(argument: int) -> _Instruction:
    return _LOAD, 0, 0, 20 + 8 * argument


def _passes() -> _Instruction:
    return _RETURN, 0, 0, _ALLOW


def _fails(code: int) -> _Instruction:
    return _RETURN, 0, 0, _ERRNO | code
