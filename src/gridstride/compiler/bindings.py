"""NVRTC's C interface, through cuda.bindings: loaded when first needed, statuses turned into exceptions."""

from __future__ import annotations

import ctypes
import os
import site
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gridstride.compiler.headers import library
from gridstride.one_message import OneMessage

# NVRTC searches the folder of the program's name for "quoted" includes, and the working folder for a bare name. This
# one cannot exist, as /dev/null is no folder; a #line directive gives the source its own name back.
_PROGRAM_NAME = "/dev/null/kernel.cu"


def supported_archs() -> tuple[str, ...]:
    """The architectures that the installed NVRTC compiles for, as "sm_75"."""
    nvrtc = load()
    return tuple(f"sm_{number}" for number in call(nvrtc.nvrtcGetSupportedArchs()))


class NoCompiler(OneMessage, RuntimeError):
    """NVRTC is not installed, cannot be loaded, or failed for no reason of the source."""


def load() -> Any:
    """cuda.bindings.nvrtc, imported when something must be compiled, as it costs more than a hit of the cache.

    NoCompiler where it is not there.
    """
    try:
        from cuda.bindings import nvrtc

        _preload()
        nvrtc.nvrtcVersion()  # loads the library
    except (ImportError, OSError, RuntimeError) as error:
        way_out = "pip install cuda-bindings nvidia-cuda-nvrtc"
        reason = " ".join(str(error).split())
        raise NoCompiler(f"NVRTC, the CUDA compiler, cannot be loaded: {reason}; {way_out}") from error
    return nvrtc


def _preload() -> None:
    """Loads NVRTC from a wheel that lies elsewhere on sys.path than in site-packages.

    There alone cuda-pathfinder looks, which the bindings ask; but it takes what is loaded already. So `pip install
    --target DIR` with PYTHONPATH=DIR works. The bindings are to be asked once only: some remember that they failed.
    """
    usual = (*site.getsitepackages(), site.getusersitepackages())
    for pattern in ("libnvrtc-builtins.so.*", "libnvrtc.so.*"):
        path = library(pattern, toolkit=False)
        if path is not None and not any(path.is_relative_to(folder) for folder in usual):
            ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_GLOBAL)


@contextmanager
def open_program(nvrtc: Any, source: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """A program; `headers` are contents by the names that #include gives them, before what lies in a folder."""
    texts, names = [text.encode() for text in headers.values()], [name.encode() for name in headers]
    program = call(nvrtc.nvrtcCreateProgram(source.encode(), _PROGRAM_NAME.encode(), len(headers), texts, names))
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def call(result: tuple[Any, ...]) -> Any:
    """A binding's result without its status, which must be success."""
    status, *values = result
    if status != 0:
        raise NoCompiler(f"NVRTC failed: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


def text_of(size_of: Any, fill: Any, program: Any) -> str:
    buffer = bytearray(call(size_of(program)))
    call(fill(program, buffer))
    text: str = buffer.rstrip(b"\0").decode(errors="replace")
    return text
