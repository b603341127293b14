"""NVRTC's options in clang's words: a source is compiled with the same options by either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FAST = ("-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals",
         "-mllvm", "-nvptx-prec-divf32=1", "-mllvm", "-nvptx-prec-sqrtf32=0")  # fmt: skip
_FLAGS: dict[str, tuple[str, ...]] = {
    "use_fast_math": _FAST,
    "ffinite-math-only": ("-ffinite-math-only",),
    "fno-signed-zeros": ("-fno-signed-zeros",),
    "device-debug": ("-O0", "-g", "--cuda-noopt-device-debug"),
    "generate-line-info": (),
    "disable-warnings": ("-w",),
    "Wreorder": ("-Wreorder",),
    "Wconversion": ("-Wconversion",),
    "display-error-number": (),
    "device-int128": (),  # clang has it
    "device-c": ("-fgpu-rdc",),
    "extra-device-vectorization": (),
}
_SWITCHES: dict[str, dict[bool, tuple[str, ...]]] = {
    "fmad": {True: ("-ffp-contract=fast",), False: ("-ffp-contract=off",)},
    "ftz": {True: ("-fgpu-flush-denormals-to-zero",), False: ()},
    "prec-div": {True: (), False: ("-mllvm", "-nvptx-prec-divf32=1")},
    "prec-sqrt": {True: (), False: ("-mllvm", "-nvptx-prec-sqrtf32=0")},
    "relocatable-device-code": {True: ("-fgpu-rdc",), False: ()},
    "builtin-move-forward": {True: (), False: ()},
    "builtin-initializer-list": {True: (), False: ()},
}
_VALUES = {"define-macro": "-D", "undefine-macro": "-U", "std": "-std=", "fmax-errors": "-ferror-limit="}
_ON = re.compile(r"true|1|on", re.IGNORECASE)


def clang_options(options: Sequence[str]) -> list[str]:
    """Clang's options for checked ones of NVRTC (options.py); ValueError naming one that clang has nothing for."""
    return [word for option in options for word in _translated(option)]


def _translated(option: str) -> Iterator[str]:
    name, _, value = option.removeprefix("--").partition("=")
    if name in _FLAGS:
        yield from _FLAGS[name]
    elif name in _SWITCHES:
        yield from _SWITCHES[name][_ON.fullmatch(value) is not None]
    elif name in _VALUES:
        yield f"{_VALUES[name]}{value}"
    elif name == "warning-as-error":
        yield "-Werror"
    else:
        raise ValueError(f"compiler option {option!r} is NVRTC's alone: leave it out, or compile with compiler='nvrtc'")
