"""NVRTC's C interface, through cuda.bindings: loaded when first needed, statuses turned into exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# NVRTC searches the folder of the program's name for "quoted" includes, and the working folder for a bare name. This
# one cannot exist, as /dev/null is no folder; a #line directive gives the source its own name back.
_PROGRAM_NAME = "/dev/null/kernel.cu"


def supported_archs() -> tuple[str, ...]:
    """The architectures that the installed NVRTC compiles for, as "sm_75"."""
    nvrtc = load()
    return tuple(f"sm_{number}" for number in call(nvrtc.nvrtcGetSupportedArchs()))


def load() -> Any:
    """cuda.bindings.nvrtc, imported when something must be compiled: it costs more than a hit of the cache."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # loads the library
    except (ImportError, OSError, RuntimeError) as error:
        way_out = "pip install cuda-bindings nvidia-cuda-nvrtc"
        raise RuntimeError(f"NVRTC, the CUDA compiler, cannot be loaded: {error}; {way_out}") from error
    return nvrtc


@contextmanager
def open_program(nvrtc: Any, source: str) -> Iterator[Any]:
    program = call(nvrtc.nvrtcCreateProgram(source.encode(), _PROGRAM_NAME.encode(), 0, [], []))
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def call(result: tuple[Any, ...]) -> Any:
    """A binding's result without its status, which must be success."""
    status, *values = result
    if status != 0:
        raise RuntimeError(f"NVRTC failed: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


def text_of(size_of: Any, fill: Any, program: Any) -> str:
    buffer = bytearray(call(size_of(program)))
    call(fill(program, buffer))
    text: str = buffer.rstrip(b"\0").decode(errors="replace")
    return text
