"""A folder laid out as a CUDA toolkit is: bin with our compilers, include, lib64. What CUDA_HOME names."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import cache_root
from gridstride.programs.environment.launch import CUDA11, SETTINGS, settings_text
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.run import Settings
from gridstride.programs.toolchain.libraries import OWN
from gridstride.programs.toolchain.runtime_library import SONAME, runtime_library
from gridstride.programs.toolchain.wheels import LIBRARY_HEADERS, Toolchain, toolchain

_COMPILERS = {
    "nvcc": "nvcc",
    **dict.fromkeys(("c++", "g++", "clang++"), "c++"),
    **dict.fromkeys(("cc", "gcc", "clang"), "cc"),
}
"""Names that builds call, and which of our commands each is."""
_ARCHIVERS = ("ar", "ranlib")
_COMPILER = """#!{python}
# Made by `gridstride env`.
from gridstride.programs.environment.commands import main
main({tool!r})
"""
_ARCHIVER = '#!/bin/sh\nexec {zig} {tool} "$@"\n'
_LIBRARIES = ("cudart", "cuda", "nvrtc", *(library.name for library in OWN))
"""Looked for by that name; what is linked in their place `executable.link` knows."""
_ARCHIVES = ("cudart_static", "cudadevrt", "culibos")
_EMPTY_ARCHIVE = b"!<arch>\n"


def variables(settings: Settings, *, cuda11: bool = False) -> dict[str, str]:
    """What a build's environment is to have. MissingToolchain; ProgramError where the folder cannot be written."""
    root = _folder(toolchain())
    tools = {"CC": "cc", "CXX": "c++", "CUDACXX": "nvcc", "CUDAHOSTCXX": "c++"}
    path = os.pathsep.join([str(root / "bin"), *_without_ours(os.environ.get("PATH", ""))])
    return {
        "PATH": path,
        **dict.fromkeys(("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"), str(root)),
        **{name: str(root / "bin" / tool) for name, tool in tools.items()},
        SETTINGS: settings_text(settings),
        CUDA11: "1" if cuda11 else "",
    }


def exports(values: dict[str, str]) -> str:
    """For a shell to eval."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def _without_ours(path: str) -> Iterator[str]:
    """The folders of a path but those that an earlier `gridstride env` put there."""
    ours = cache_root() / "toolkit"
    yield from (folder for folder in path.split(os.pathsep) if not Path(folder).is_relative_to(ours))


def _folder(tools: Toolchain) -> Path:
    key = sha256("\0".join([tools.identity, sys.executable, _COMPILER, _ARCHIVER]).encode()).hexdigest()[:16]
    root = cache_root() / "toolkit" / key
    library = runtime_library(tools, progress=lambda line: print(line, file=sys.stderr))
    try:
        for name, tool in _COMPILERS.items():
            _write(root / "bin" / name, _COMPILER.format(python=sys.executable, tool=tool).encode(), 0o755)
        for name in _ARCHIVERS:
            script = _ARCHIVER.format(zig=shlex.quote(str(tools.zig)), tool=name)
            _write(root / "bin" / name, script.encode(), 0o755)
        for header in [*LIBRARY_HEADERS.iterdir(), *(tools.cuda / "include").iterdir()]:  # ours first
            _link(root / "include" / header.name, header)
        _link(root / "nvvm", tools.cuda / "nvvm")
        _write(root / "lib64" / SONAME, library, 0o755)
        for name in _LIBRARIES:
            _link(root / "lib64" / f"lib{name}.so", Path(SONAME))
        for name in _ARCHIVES:
            _write(root / "lib64" / f"lib{name}.a", _EMPTY_ARCHIVE, 0o644)
        (root / "lib64" / "stubs").mkdir(exist_ok=True)
        _link(root / "lib", Path("lib64"))
    except OSError as error:
        raise ProgramError(
            f"{root} cannot be written ({error.strerror}): GRIDSTRIDE_CACHE names another folder"
        ) from None
    return root


def _write(path: Path, data: bytes, mode: int) -> None:
    """In one step, as another process may be using the file; not at all where it is the same."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(path)


def _link(path: Path, target: Path) -> None:
    if path.is_symlink() or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
