"""The runtime's public functions, and C of their names: each goes on to its function at once, or tells of the call.

Told of it, the board counts it by name and may have it fail. The functions of runtime/ are compiled under names of
their own, which our libraries use too: what is not the program's own call is not told.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

RUNTIME = Path(__file__).parent.parent / "runtime"
OWN = "gs_own_"
"""What stands before a function's name in runtime/."""
_UNREPORTED = frozenset((
    "cudaCreateChannelDesc", "cudaGetErrorName", "cudaGetErrorString", "cudaGetLastError", "cudaPeekAtLastError",
    "cudaLaunchKernel",
))  # fmt: skip
"""Functions that give no error of their own, and the one that compilers call by its name for <<<>>>."""

_OF_A_LIBRARY = re.compile(r"(?:cublas|cufft)[A-Z]\w*\Z")

_DOORS = r"""#define GS_PUBLIC_NAMES
#include "runtime.h"
int gs_tells_calls __attribute__((visibility("hidden")));
__attribute__((used, visibility("hidden"))) cudaError_t gs_tell(const char *name, const void *site) {
    if (gs_board.watches)
        gs_begin_call(name, site, NULL);
    return gs_board.tells_calls ? gs_fail_call((cudaError_t)gs_board.called(name)) : cudaSuccess;
}
#define PLACE(name) ".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n"
#if defined(__x86_64__)
/* All that may hold an argument is kept; r10 is where it goes on, r11 the name. */
__asm__(".text\ngs_told:\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r10\n"
        "mov %r11, %rdi\nmov 56(%rsp), %rsi\ncall gs_tell\n"
        "pop %r10\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "test %eax, %eax\njne 1f\njmp *%r10\n1: ret\n");
#define DOOR(name) \
    static const char name_##name[] __attribute__((used)) = #name; \
    __asm__(PLACE(name) "mov gs_own_" #name "@GOTPCREL(%rip), %r10\n" \
            "cmpl $0, gs_tells_calls(%rip)\njne 1f\njmp *%r10\n" \
            "1: lea name_" #name "(%rip), %r11\njmp gs_told\n");
#else
__asm__(".text\ngs_told:\n"
        "stp x29, x30, [sp, #-96]!\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\nstp x8, x17, [sp, #80]\n"
        "mov x0, x16\nmov x1, x30\nbl gs_tell\nmov w16, w0\n"
        "ldp x8, x17, [sp, #80]\nldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\nldp x2, x3, [sp, #32]\n"
        "ldp x0, x1, [sp, #16]\nldp x29, x30, [sp], #96\n"
        "cbnz w16, 1f\nbr x17\n1: mov w0, w16\nret\n");
#define ADDRESS(register, name) "adrp " register ", " name "\nadd " register ", " register ", :lo12:" name "\n"
#define DOOR(name) \
    static const char name_##name[] __attribute__((used)) = #name; \
    __asm__(PLACE(name) "adrp x17, :got:gs_own_" #name "\nldr x17, [x17, :got_lo12:gs_own_" #name "]\n" \
            ADDRESS("x16", "gs_tells_calls") "ldr w16, [x16]\ncbnz w16, 1f\nbr x17\n" \
            "1:\n" ADDRESS("x16", "name_" #name) "b gs_told\n");
#endif
"""


@cache
def functions() -> dict[str, dict[str, str]]:
    """The table: of every public function whether it is done, has no effect or is refused, with file or reason."""
    table: dict[str, dict[str, str]] = tomllib.loads((RUNTIME / "functions.toml").read_text())
    return table


def renamed() -> str:
    """The header that runtime.h includes before NVIDIA's."""
    names = "".join(f"#define {name} {OWN}{name}\n" for name in _reported())
    return f"#ifndef GS_PUBLIC_NAMES\n{names}#endif\n"


def untold() -> tuple[str, ...]:
    """NAME=VALUE for the compiler of our own libraries: what they call is not the program's call."""
    return tuple(f"{name}={OWN}{name}" for name in _reported())


def doors() -> str:
    """A file of the public names."""
    return _DOORS + "".join(f"DOOR({name})\n" for name in _reported())


def is_reported(name: str) -> bool:
    """Whether calls of what has this name are told; of a library's by how it begins."""
    return bool(_OF_A_LIBRARY.match(name)) or (name in functions()["done"] and name not in _UNREPORTED)


def _reported() -> list[str]:
    return sorted(functions()["done"].keys() - _UNREPORTED)
