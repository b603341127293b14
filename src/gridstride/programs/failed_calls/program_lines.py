"""The line of the program that an address of its code comes from."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import lru_cache

from gridstride.programs.failed_calls.host_lines import HostLine, HostLines

_NOT_THE_PROGRAM_S = re.compile(
    r"\.stub\.c$|/include/(?:crt/\w+|cuda_runtime)\.h$|/programs/runtime/\w+\.c$|/programs/driver/\w+\.c$|"
    r"/programs/libraries/\w+/|/driver_functions\.c$|/nvidia/[\w-]+/include/|/include/(?:cccl/)?(?:cub|thrust)/|"
    r"/lib/(?:libcxx|libcxxabi|libunwind|libc)/"
)
"""Files whose lines the program's author has not written: nvcc's, the toolkit's headers, the C++ library's, our
libraries', and our runtime's, which calls main()."""


def is_the_programs(file: str) -> bool:
    """Whether the program's author wrote a file."""
    return not _NOT_THE_PROGRAM_S.search(file)


def line_of(stack: Sequence[int], *, exact: int = 0) -> tuple[str, int] | None:
    """File and line of the first of these addresses that the program's author wrote; None where there is none.

    They are addresses that calls return to, but for the first `exact`, which are of instructions themselves.
    """
    for number, address in enumerate(stack):
        for line in lines_at(address - (number >= exact)):  # of the call, not of what comes behind it
            if is_the_programs(line.file):
                return line.file, line.line
    return None


class _SymbolInfo(ctypes.Structure):
    """Dl_info."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("start", ctypes.c_void_p),
    )  # fmt: skip


def lines_at(address: int) -> list[HostLine]:
    """Of an address, then those of the calls that were inlined there."""
    symbol = _SymbolInfo()
    if not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(symbol)) or not symbol.file:
        return []
    return _lines_of(symbol.file).at(address - (symbol.base or 0))


@lru_cache(maxsize=8)
def _lines_of(file: bytes) -> HostLines:
    try:
        with open(file, "rb") as opened:
            return HostLines(opened.read())
    except OSError:
        return HostLines(b"")
