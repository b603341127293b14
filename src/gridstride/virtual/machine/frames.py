"""How much stack a compiled function takes, read from its first instructions.

Quickly compiled code keeps every value that outlives an LLVM block in a stack slot of its own: its frames are ten times
those of optimised code, and have to be held against what a warp's stack has.
"""

from __future__ import annotations

import re

PROLOGUE = 128
"""Bytes of a function in which its stack pointer has come to its place."""

_X86 = re.compile(rb"\x48\x81\xec(....)", re.DOTALL)  # sub rsp, imm32


def frame_bytes(code: bytes, machine: str) -> int:
    """Bytes by which a function that starts with `code` lowers the stack pointer; 0 where they are few."""
    return _of_aarch64(code) if machine in ("aarch64", "arm64") else _of_x86(code)


def _of_x86(code: bytes) -> int:
    match = _X86.search(code)
    return int.from_bytes(match[1], "little") if match else 0


def _of_aarch64(code: bytes) -> int:
    """sub, by an imm12 [, lsl #12], from sp into sp or, where the frame is aligned, into x9: large ones take two."""
    total = 0
    for at in range(0, len(code) - 3, 4):
        word = int.from_bytes(code[at : at + 4], "little")
        if word & 0xFF800000 == 0xD1000000 and {word & 31, word >> 5 & 31} <= {9, 31}:
            total += (word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)
    return total
