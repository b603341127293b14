"""The compilers of CUDA C++, and which one is used: NVRTC unless another is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from gridstride.compiler.bindings import NoCompiler
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome

VARIABLE = "GRIDSTRIDE_COMPILER"
"""Names the compiler where a program does not, as with every command."""


@dataclass(frozen=True, slots=True)
class CudaCompiler:
    """One compiler. `identity` is a text that changes when what it makes of a source may; NoCompiler where it is not
    there. `compile` gives PTX or errors.
    """

    name: str
    identity: Callable[[], str]
    compile: Callable[[CompileRequest], CompilerOutcome]


def _nvrtc() -> CudaCompiler:
    from gridstride.compiler.nvrtc.nvrtc_compile import compile_with_nvrtc, nvrtc_identity

    return CudaCompiler("nvrtc", nvrtc_identity, compile_with_nvrtc)


def _clang() -> CudaCompiler:
    from gridstride.compiler.clang.clang_compile import clang_identity, compile_with_clang

    return CudaCompiler("clang", clang_identity, compile_with_clang)


_COMPILERS: Mapping[str, Callable[[], CudaCompiler]] = {"nvrtc": _nvrtc, "clang": _clang}


def cuda_compiler(name: str | None = None) -> CudaCompiler:
    """The compiler of that name, else the one that GRIDSTRIDE_COMPILER names, else NVRTC; see `checked_compiler`."""
    return _COMPILERS[checked_compiler(name)]()


def checked_compiler(name: str | None = None) -> str:
    """The name of the compiler to use. TypeError and ValueError for what is no name of one, NoCompiler where
    GRIDSTRIDE_COMPILER is none.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f'a compiler is named by a str, not {type(name).__name__}: compiler="clang"')
    requested = name if name is not None else os.environ.get(VARIABLE) or "nvrtc"
    if requested in _COMPILERS:
        return requested
    near = get_close_matches(requested.lower(), _COMPILERS, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    problem = f"{requested!r} is no compiler of CUDA C++: {' and '.join(map(repr, _COMPILERS))} are{hint}"
    if name is None:
        raise NoCompiler(f"{VARIABLE}={problem}")
    raise ValueError(f"compiler={problem}")
