"""Our libcudart: C files and a table of functions, compiled by zig when first needed and kept on disk."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from gridstride.compiler.cache import shared
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.toolchain.driver_library import (
    DRIVER,
    driver_functions,
    driver_twins,
    generated_driver,
    generated_jit_link,
    older_symbols,
)
from gridstride.programs.toolchain.runtime_functions import RUNTIME, doors, functions, renamed
from gridstride.programs.toolchain.wheels import Toolchain, environment, host_flags

SONAME = "libcudart.so.13"
_PER_THREAD = re.compile(r"\b(cuda\w+)\s+__CUDART_API_(PTDS|PTSZ)\(")
_INTERNAL_PER_THREAD = {"__cudaLaunchKernel": "ptsz"}

_HEADERS = ("cuda_runtime_api.h", "cuda.h", "nvJitLink.h")
_HEAD = r"""#define GS_PUBLIC_NAMES
#include "runtime.h"
#define STUB(name) PUBLIC cudaError_t stub_##name(void) __asm__(#name)
#if defined(__x86_64__)
#define JUMP(name) "jmp " #name "@PLT"
#else
#define JUMP(name) "b " #name
#endif
#define TWIN(name, other) \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" JUMP(other) "\n");
/* Of what is compiled so that stream 0 is each thread's own. */
#if defined(__x86_64__)
#define OF_THREADS "movl $1, gs_zero_is_the_threads(%rip)\n"
#else
#define OF_THREADS \
    "adrp x16, gs_zero_is_the_threads\nmov w17, #1\nstr w17, [x16, :lo12:gs_zero_is_the_threads]\n"
#endif
#define TWIN_OF_THREADS(name, other) \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" OF_THREADS JUMP(other) "\n");
"""


def runtime_library(tools: Toolchain, *, progress: Callable[[str], None]) -> bytes:
    """The shared object; BuildFailed where zig refuses it."""
    headers = [_text(tools.cuda / "include" / name) for name in _HEADERS]
    files = sorted([*RUNTIME.glob("*.[ch]"), *DRIVER.glob("*.[ch]")])
    # What the generated files follow from, and not they: to write them takes as long as to start Python.
    makers = sorted([*RUNTIME.glob("*.toml"), *DRIVER.glob("*.toml"), *Path(__file__).parent.glob("*.py")])
    texts = [tools.identity, *headers, *(path.read_text() for path in [*files, *makers])]
    key = f"libcudart {sha256(chr(0).join(texts).encode()).hexdigest()}"
    cache = shared("programs")
    cached = cache.get(key)
    if cached is not None:
        return cached
    progress("building the runtime library, once")
    stubs = _stubs(*headers)
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target = Path(folder, SONAME)
        for name, text in stubs.items():
            Path(folder, name).write_text(text)
        command = [
            str(tools.zig), "cc", *host_flags(), "-O2", "-fno-optimize-sibling-calls", "-std=gnu11", "-fPIC",
            "-shared", "-fvisibility=hidden",
            "-Wno-deprecated-declarations", f"-Wl,-soname,{SONAME}", f"-I{RUNTIME}", f"-I{DRIVER}", f"-I{folder}",
            f"-I{tools.cuda / 'include'}", *(str(path) for path in files if path.suffix == ".c"),
            *(f"{folder}/{name}" for name in stubs if name.endswith(".c")), "-ldl", "-lpthread", "-o", str(target),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment())
        if done.returncode or not target.is_file():
            raise BuildFailed("the runtime library does not compile", done.stdout + done.stderr)
        data = target.read_bytes()
    cache.put(key, data)
    return data


def _stubs(header: str, driver: str, jit_link: str) -> Mapping[str, str]:
    """The files that follow from the headers."""
    table = driver_functions()
    twins = driver_twins(table, driver) | older_symbols(driver)[0]
    return {
        "own_names.h": renamed(),
        "doors.c": doors(),
        "functions.c": generated(functions(), header, twins),
        "driver_functions.c": generated_driver(table, driver),
        "jit_link_functions.c": generated_jit_link(jit_link),
    }


def _text(header: Path) -> str:
    """Empty for a header whose wheel is not installed."""
    return header.read_text(errors="replace") if header.is_file() else ""


def generated(
    table: Mapping[str, Mapping[str, str]], header: str, more_twins: Mapping[str, str] = MappingProxyType({})
) -> str:
    """C of the functions that only succeed or are refused, and of the names that per-thread streams go by.

    Parameters are left out: a caller passes them in registers, where nobody reads them.
    """
    lines = []
    for name in table["no_effect"]:
        lines += [f"STUB({name});", f"cudaError_t stub_{name}(void) {{ return gs_fault(); }}"]
    for name, reason in table["refused"].items():
        lines += [f"STUB({name});", f'cudaError_t stub_{name}(void) {{ return gs_refused("{name}", "{reason}"); }}']
    function_names = {name for section in table.values() for name in section}
    twins = {name: kind.lower() for name, kind in _PER_THREAD.findall(header) if name in function_names}
    jumps = {f"{name}_{kind}": name for name, kind in (twins | _INTERNAL_PER_THREAD).items()}
    for name, twin in sorted(jumps.items()):
        lines.append(f"TWIN_OF_THREADS({name}, {twin})")
    for name, twin in sorted(more_twins.items()):
        # a jump, as an alias must be of the same file
        lines.append(f"TWIN({name}, {twin})")
    return "\n".join([_HEAD, *lines]) + "\n"
