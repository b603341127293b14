"""The runtime's public functions, and C of their names: each goes on to its function at once, or tells of the call.

Told of it, the board counts it by name and may have it fail. The functions of runtime/ are compiled under another name,
so that what they call among themselves is not told.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

RUNTIME = Path(__file__).parent / "runtime"
OWN = "gs_own_"
"""What stands before a function's name in runtime/."""
_NOT_TOLD = frozenset((
    "cudaCreateChannelDesc", "cudaGetErrorName", "cudaGetErrorString", "cudaGetLastError", "cudaPeekAtLastError",
))  # fmt: skip
"""Functions that give no error of their own."""

_DOORS = r"""#define GS_PUBLIC_NAMES
#include "runtime.h"
int gs_tells_calls __attribute__((visibility("hidden")));
__attribute__((used, visibility("hidden"))) cudaError_t gs_tell(const char *name) {
    return gs_error((cudaError_t)gs_board.called(name));
}
#define PLACE(name) ".text\n.hidden gs_own_" #name "\n.globl " #name "\n.type " #name ",@function\n" #name ":\n"
#if defined(__x86_64__)
/* All that may hold an argument is kept; r10 is where it goes on, r11 the name. */
__asm__(".text\ngs_told:\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r10\n"
        "mov %r11, %rdi\ncall gs_tell\n"
        "pop %r10\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "test %eax, %eax\njne 1f\njmp *%r10\n1: ret\n");
#define DOOR(name) \
    static const char name_##name[] __attribute__((used)) = #name; \
    __asm__(PLACE(name) "cmpl $0, gs_tells_calls(%rip)\nje gs_own_" #name "\n" \
            "lea name_" #name "(%rip), %r11\nlea gs_own_" #name "(%rip), %r10\njmp gs_told\n");
#else
__asm__(".text\ngs_told:\n"
        "stp x29, x30, [sp, #-96]!\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\nstp x8, x17, [sp, #80]\n"
        "mov x0, x16\nbl gs_tell\nmov w16, w0\n"
        "ldp x8, x17, [sp, #80]\nldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\nldp x2, x3, [sp, #32]\n"
        "ldp x0, x1, [sp, #16]\nldp x29, x30, [sp], #96\n"
        "cbnz w16, 1f\nbr x17\n1: mov w0, w16\nret\n");
#define ADDRESS(register, name) "adrp " register ", " name "\nadd " register ", " register ", :lo12:" name "\n"
#define DOOR(name) \
    static const char name_##name[] __attribute__((used)) = #name; \
    __asm__(PLACE(name) ADDRESS("x16", "gs_tells_calls") "ldr w16, [x16]\ncbnz w16, 1f\nb gs_own_" #name "\n1:\n" \
            ADDRESS("x16", "name_" #name) ADDRESS("x17", "gs_own_" #name) "b gs_told\n");
#endif
"""


@cache
def functions() -> dict[str, dict[str, str]]:
    """The table: of every public function whether it is done, has no effect or is refused, with file or reason."""
    table: dict[str, dict[str, str]] = tomllib.loads((RUNTIME / "functions.toml").read_text())
    return table


def renamed(names: Iterable[str]) -> str:
    """The header that runtime.h includes before NVIDIA's."""
    names = "".join(f"#define {name} {OWN}{name}\n" for name in _told(names))
    return f"#ifndef GS_PUBLIC_NAMES\n{names}#endif\n"


def doors(names: Iterable[str]) -> str:
    """A file of the public names."""
    return _DOORS + "".join(f"DOOR({name})\n" for name in _told(names))


def is_told(name: str) -> bool:
    """Whether calls of what has this name are told."""
    return name in functions()["done"] and name not in _NOT_TOLD


def _told(names: Iterable[str]) -> list[str]:
    return sorted(set(names) - _NOT_TOLD)
