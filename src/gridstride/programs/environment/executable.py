"""Linking as a project's build does it: an executable, or a shared library, of objects and archives that use CUDA.

An executable is a shared object with an entry (`start.c`), so that the same file is started by the kernel and loaded
by the process of a program.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.programs.environment.words import LIBRARY_SUFFIXES, OBJECT_SUFFIXES, Word, flat
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import library_objects
from gridstride.programs.toolchain.libraries import OWN, Library, called
from gridstride.programs.toolchain.link import PROVIDED, linked_binaries, not_linked, refusal
from gridstride.programs.toolchain.openmp import link_words
from gridstride.programs.toolchain.runtime_library import SONAME, runtime_library
from gridstride.programs.toolchain.wheels import Toolchain, environment, host_flags

START = Path(__file__).parent / "start.c"
_USES_CUDA = (b"__cudaRegister", b"\0cudaMalloc", b"\0cudaGetDevice", b"\0cuInit\0", SONAME.encode())
"""What lies in an object, an archive or a shared library that needs the virtual GPU."""
_NAMES_CUDA = {"cudart", "cudart_static", "cuda", "nvrtc", *(library.name for library in OWN)}
_BY_PATH = re.compile(rf"(?:.*/)?lib({'|'.join([*_NAMES_CUDA, 'cudadevrt', 'culibos'])})\.(?:a|so[.\d]*)")
_NEVER = {"-static", "-pie", "-no-pie", "-nopie", "-fPIE", "-fpie", "-static-pie", "-s", "-fopenmp"}
"""Words of a link that would make something else of the executable than what is loaded."""
_RELOCATABLE = re.compile(rb"\0(__fatbinwrap_\w+)(?=\0)")
"""What an object with relocatable device code defines, and no host code asks for."""


@dataclass(frozen=True, slots=True)
class Link:
    """`words`: objects, archives, -l, -L and what else the linker is told, in their order."""

    words: Sequence[Word]
    target: Path
    shared: bool
    arch: str


def named_libraries(words: Sequence[Word]) -> list[Word]:
    """The words with -l NAME in place of a path to a library of CUDA's, as CMake has it."""
    return [
        Word("-l", path[1], (f"-l{path[1]}",)) if not word.name and (path := _BY_PATH.fullmatch(word.value)) else word
        for word in words
    ]


def uses_cuda(words: Sequence[Word]) -> bool:
    """Whether what is linked needs the virtual GPU: a library of CUDA is named, or a file calls it."""
    if any(word.name == "-l" and word.value in _NAMES_CUDA for word in words):
        return True
    return any(sign in data for data in _contents(words) for sign in _USES_CUDA)


def link(tools: Toolchain, what: Link, folder: Path) -> str:
    """Write the target; what there is to say. BuildFailed. `folder` is for files in between."""
    named = [word.value for word in what.words if word.name == "-l"]
    for name in named:
        if name not in PROVIDED and (reason := refusal(name)) is not None:
            raise BuildFailed(f"-l{name} cannot be linked: {reason}", "")
    messages: list[str] = []
    contents = list(_contents(what.words))
    (folder / "linked_binaries.c").write_text(linked_binaries(contents))
    (folder / "libcudart.so").write_bytes(runtime_library(tools, progress=messages.append))
    own = _own_libraries(tools, what, called(contents, Options(libraries=tuple(named))), folder, messages)
    # from archives, too: device code calls what lies in them, and the device is linked when the program runs
    symbols = sorted({name.decode() for data in contents for name in _RELOCATABLE.findall(data)})
    built_in = PROVIDED | _NAMES_CUDA | {"culibos"}
    supported = [
        word for word in what.words if word.name not in _NEVER and not (word.name == "-l" and word.value in built_in)
    ]
    command = [
        str(tools.zig), "c++", *host_flags(), "-O2", "-fPIC", "-shared", *(f"-Wl,-u,{name}" for name in symbols),
        *flat(supported), *own, "-x", "c", "-fvisibility=hidden", str(folder / "linked_binaries.c"),
        *([] if what.shared else _entry()), *link_words(contents), f"-L{folder}", "-lcudart",
        "-lm", "-lpthread", "-ldl", "-o", str(what.target),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment(), check=False)
    if done.returncode:
        raise not_linked(done.stdout + done.stderr)
    return "\n".join([*messages, (done.stdout + done.stderr).strip()]).strip()


def _entry() -> list[str]:
    """Words that make an executable of a shared object, behind others of C."""
    python = f"-DGS_PYTHON={json.dumps(sys.executable)}"
    return [python, "-fno-stack-protector", str(START), "-Wl,-e,gs_start", "-Wl,-z,defs", "-Wl,-Bsymbolic"]


def _own_libraries(
    tools: Toolchain, what: Link, libraries: Iterable[Library], folder: Path, messages: list[str]
) -> list[str]:
    """Objects of the libraries of ours that it needs."""
    paths: list[str] = []
    for library in libraries:
        messages.append(library.notice)
        for data in library_objects(tools, library, arch=what.arch, progress=messages.append):
            paths.append(str(folder / f"{library.name}{len(paths)}.o"))
            Path(paths[-1]).write_bytes(data)
    return paths


def _contents(words: Sequence[Word]) -> Iterator[bytes]:
    """Of the objects, archives and libraries that a link reads, but the system's."""
    folders = [Path(word.value) for word in words if word.name == "-L"]
    for word in words:
        paths = []
        if not word.name and word.value.endswith((*OBJECT_SUFFIXES, *LIBRARY_SUFFIXES)):
            paths = [Path(word.value)]
        elif word.name == "-l":
            paths = [folder / f"lib{word.value}{ending}" for folder in folders for ending in (".so", ".a")]
        if (path := next((path for path in paths if path.is_file()), None)) is not None:
            yield path.read_bytes()
