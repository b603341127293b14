"""Which clang compiles CUDA C++: the one that GRIDSTRIDE_CLANG names, else the first of PATH that can."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gridstride.compiler.bindings import NoCompiler

VARIABLE = "GRIDSTRIDE_CLANG"
"""Names the clang to use: a path, or a command of PATH."""
OLDEST = 18
"""The first major version that knows sm_90a."""
_NAME = re.compile(r"clang(?:-(?P<version>\d+))?")
_VERSION = re.compile(r"\bclang version (?P<major>\d+)\.(?P<minor>\d+)")
_SECONDS = 20.0  # for a question that is answered in milliseconds, on a machine with much else to do
_INSTALL = f"install clang {OLDEST} or later (apt install clang-19) or name one: {VARIABLE}=/path/to/clang"
_NVRTC = 'compiler="nvrtc" needs none'


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang that compiles for NVIDIA GPUs; `identity` changes when the program does."""

    path: str
    major: int
    identity: str


def find_clang() -> Clang:
    """The clang to use; NoCompiler where none is, or none that makes code for NVIDIA GPUs."""
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise NoCompiler(f"{VARIABLE}={named!r} is no program that can be run: give the path of a clang")
        clang = _examined(path)
        if isinstance(clang, str):
            raise NoCompiler(f"{VARIABLE}={named!r}: {clang}; {_INSTALL}; {_NVRTC}")
        return clang
    refused = []
    for path in _candidates():
        clang = _examined(path)
        if isinstance(clang, Clang):
            return clang
        refused.append(clang)
    reason = "; ".join(refused) or "there is no clang on PATH"
    raise NoCompiler(f"CUDA C++ cannot be compiled with clang: {reason}; {_INSTALL}; {_NVRTC}")


def clang_environment() -> dict[str, str]:
    """This process' environment without what adds folders or options to clang's own, and with messages in English."""
    dropped = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"}
    return {name: value for name, value in os.environ.items() if name not in dropped} | {"LC_ALL": "C"}


def _candidates() -> Iterator[str]:
    """`clang`, then clang-N from the newest on."""
    names: dict[str, int] = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in _listing(folder):
            if match := _NAME.fullmatch(name):
                names[name] = int(match["version"] or 1000)
    paths = (shutil.which(name) for name in sorted(names, key=lambda name: -names[name]))
    yield from (path for path in paths if path)


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder) if folder else []
    except OSError:
        return []


def _examined(path: str) -> Clang | str:
    """The clang at a path, or why it cannot be used."""
    status = Path(path).stat()
    return _queried(path, os.path.realpath(path), status.st_mtime_ns, status.st_size)


@cache
def _queried(path: str, real: str, modified: int, size: int) -> Clang | str:
    """What a program says of itself, asked once a process; the other arguments are the file's, by which it is known."""
    version_text = _output(path, "--version")
    match = _VERSION.search(version_text or "")
    if version_text is None or match is None:
        return f"{path} does not say that it is clang"
    if int(match["major"]) < OLDEST:
        return f"{path} is clang {match['major']}.{match['minor']}, {OLDEST} or later is needed"
    if "nvptx64" not in (_output(path, "-print-targets") or ""):
        return f"{path} is built without NVPTX, LLVM's code for NVIDIA GPUs"
    return Clang(path, int(match["major"]), f"{real} {modified} {size} {version_text}")


def _output(path: str, question: str) -> str | None:
    try:
        done = subprocess.run(
            [path, question], capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            env=clang_environment(), stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
