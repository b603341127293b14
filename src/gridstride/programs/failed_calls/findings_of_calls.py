"""Calls of the program that returned an error at which it never looked: findings, with the line of the call."""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gridstride.programs.failed_calls import aarch64_code, x86_64_code
from gridstride.programs.failed_calls.host_lines import HostLine, HostLines
from gridstride.programs.failed_calls.result_use import Decode, is_result_dropped
from gridstride.virtual.errors import source_name
from gridstride.virtual.findings.finding import KernelFinding

KIND = "unchecked_error"
_DECODERS: Mapping[str, Decode] = {
    **dict.fromkeys(("x86_64", "amd64"), x86_64_code.decoded),
    **dict.fromkeys(("aarch64", "arm64"), aarch64_code.decoded),
}
"""By machine; there are compilers for no other (`toolchain.wheels`)."""
_NOT_THE_PROGRAM_S = re.compile(r"\.stub\.c$|/include/(?:crt/\w+|cuda_runtime)\.h$|/programs/runtime/\w+\.c$")
"""Files whose lines the program's author has not written: nvcc's, and our runtime's, which calls main()."""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """One place of a program; `kernel` for a launch, mangled. `site` is the address it returns to, `stack` those from
    there outwards.
    """

    function: str
    kernel: str | None
    error: str
    words: str
    site: int
    stack: Sequence[int]
    times: int


def finding_of(call: FailedCall) -> KernelFinding | None:
    """None where the program looks at what the call returns, or may."""
    if call.kernel is None and not _drops(call.site):
        return None
    line = _line_of(call)
    title = f"the launch of {source_name(call.kernel)}" if call.kernel else call.function
    often = f" {call.times} times" if call.times > 1 else ""
    asks = "cudaGetLastError() behind the launch says so" if call.kernel else "compare what it returns with cudaSuccess"
    message = f"{title} gave {call.error}{often} ({call.words}), and the program did not look: {asks}"
    return KernelFinding(KIND, message, "", line.file if line else None, line.line if line else None)


def _drops(site: int) -> bool:
    decoded = _DECODERS.get(platform.machine().lower())
    return decoded is not None and is_result_dropped(site, ctypes.string_at, decoded)


def _line_of(call: FailedCall) -> HostLine | None:
    stack = list(call.stack)
    frames = stack[stack.index(call.site) :] if call.site in stack else [call.site]
    for address in frames:
        for line in _lines_at(address - 1):  # of the call, not of what comes behind it
            if not _NOT_THE_PROGRAM_S.search(line.file):
                return line
    return None


class _SymbolInfo(ctypes.Structure):
    """Dl_info."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("start", ctypes.c_void_p),
    )  # fmt: skip


def _lines_at(address: int) -> list[HostLine]:
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
