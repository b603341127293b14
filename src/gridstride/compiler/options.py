"""Which NVRTC options a kernel may be compiled with, checked by name before NVRTC sees them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches

# NVRTC's own list (nvrtc.h, "Supported Compile Options"), as far as it bears on PTX. True: a value must follow.
_ALLOWED: dict[str, bool] = {
    "define-macro": True, "undefine-macro": True, "std": True, "fmad": True, "ftz": True, "prec-div": True,
    "prec-sqrt": True, "maxrregcount": True, "dopt": True, "jump-table-density": True, "fmax-errors": True,
    "builtin-move-forward": True, "builtin-initializer-list": True, "device-stack-protector": True,
    "diag-error": True, "diag-suppress": True, "diag-warn": True, "warning-as-error": True,
    "relocatable-device-code": True, "split-compile": True,
    "use_fast_math": False, "fno-signed-zeros": False, "ffinite-math-only": False,
    "extra-device-vectorization": False, "restrict": False, "device-int128": False, "device-float128": False,
    "device-as-default-execution-space": False, "device-debug": False, "generate-line-info": False,
    "disable-warnings": False, "Wreorder": False, "Wconversion": False, "display-error-number": False,
    "device-c": False, "device-w": False, "extensible-whole-program": False,
}  # fmt: skip
_SHORT = {
    "D": "define-macro", "U": "undefine-macro", "jtd": "jump-table-density", "Werror": "warning-as-error",
    "rdc": "relocatable-device-code", "default-device": "device-as-default-execution-space", "G": "device-debug",
    "lineinfo": "generate-line-info", "w": "disable-warnings", "err-no": "display-error-number",
    "dc": "device-c", "dw": "device-w", "ewp": "extensible-whole-program",
}  # fmt: skip
_ELSEWHERE = {
    **dict.fromkeys(
        ["arch", "gpu-architecture"],
        "code is for the device in use: gs.use('a100') chooses one, compile_cuda takes arch='sm_80'",
    ),
    **dict.fromkeys(["I", "include-path"], "give the folder in include_paths="),
    **dict.fromkeys(["include", "pre-include", "preinclude"], "write the #include in the source"),
    **dict.fromkeys(["O0", "O1", "O2", "O3"], "that is nvcc's: NVRTC optimises unless given -G"),
    **dict.fromkeys(["Xptxas", "ptxas-options"], "the result is PTX, which ptxas has not seen yet"),
    **dict.fromkeys(["dlto", "dlink-time-opt", "optix-ir", "gen-opt-lto"], "the result must be PTX"),
    **dict.fromkeys(["time", "fdevice-time-trace", "create-pch", "use-pch", "pch", "pch-dir"], "it writes files"),
}
_JOINED = re.compile(r"-([DU])\s*(\S.*)", re.DOTALL)  # -DNAME=1, without a space or an equals sign before the name


def check_options(options: Sequence[str]) -> tuple[str, ...]:
    """The options in one canonical form: the long name, with its value attached.

    Raises ValueError naming the option, with the nearest one that exists or the way to say the same.
    """
    if isinstance(options, str):
        one_by_one = tuple(shlex.split(options))
        check_options(one_by_one)  # what is wrong with an option itself is said first
        raise ValueError(f"options must be a sequence of strings, not one string: options={one_by_one!r}")
    checked: list[str] = []
    pending = iter(options)
    for option in pending:
        if not isinstance(option, str) or "\0" in option:
            raise ValueError(f"compiler option {option!r} is not a string without NUL characters")
        joined = _JOINED.fullmatch(option)
        short, equals, value = (joined[1], "=", joined[2]) if joined else option.lstrip("-").partition("=")
        name = _SHORT.get(short, short)
        if not option.startswith("-") or name not in _ALLOWED:
            raise ValueError(f"unknown compiler option {option!r}: {_way_out(short)}")
        if _ALLOWED[name]:
            checked.append(f"--{name}={_value(option, value if equals else next(pending, None))}")
        elif equals:
            raise ValueError(f"compiler option {option!r} takes no value")
        else:
            checked.append(f"--{name}")
    return tuple(checked)


def _value(option: str, value: str | None) -> str:
    if not value:
        raise ValueError(f"compiler option {option!r} needs a value: {option.rstrip('=')}=…")
    return value


def _way_out(name: str) -> str:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    near = get_close_matches(name, [*_ALLOWED, *_SHORT], n=1)
    if near:
        return f"did you mean '{'-' if near[0] in _SHORT else '--'}{near[0]}'?"
    if name.startswith("I"):
        return _ELSEWHERE["I"]
    return "it is none of NVRTC's compile options"
