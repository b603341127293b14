"""Calls of the program that returned an error at which it never looked: findings, with the line of the call."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridstride.programs.failed_calls import aarch64_code, x86_64_code
from gridstride.programs.failed_calls.program_lines import line_of
from gridstride.programs.failed_calls.result_use import Decode, is_result_dropped
from gridstride.virtual.errors import source_name
from gridstride.virtual.findings.finding import KernelFinding

KIND = "unchecked_error"
_DECODERS: Mapping[str, Decode] = {
    **dict.fromkeys(("x86_64", "amd64"), x86_64_code.decoded),
    **dict.fromkeys(("aarch64", "arm64"), aarch64_code.decoded),
}
"""By machine; there are compilers for no other (`toolchain.wheels`)."""


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
    return KernelFinding(KIND, message, "", *(line or (None, None)))


def _drops(site: int) -> bool:
    decoded = _DECODERS.get(platform.machine().lower())
    return decoded is not None and is_result_dropped(site, ctypes.string_at, decoded)


def _line_of(call: FailedCall) -> tuple[str, int] | None:
    stack = list(call.stack)
    return line_of(stack[stack.index(call.site) :] if call.site in stack else [call.site])
