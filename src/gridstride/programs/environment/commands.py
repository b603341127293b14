"""What the folder's nvcc, c++ and cc do: they hand compilations to the wheels' compilers, and link by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from gridstride.programs.environment.executable import Link, link, named_libraries, uses_cuda
from gridstride.programs.environment.launch import CUDA11, SETTINGS, settings_of
from gridstride.programs.environment.words import HOST, NVCC, Word, flat, read
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.sources import CUDA_SUFFIXES
from gridstride.programs.toolchain.compile import LINES, OLD_WORDS, hint
from gridstride.programs.toolchain.old_headers import old_headers
from gridstride.programs.toolchain.old_host_compiler import old_host_compiler
from gridstride.programs.toolchain.openmp import OPTIONS, openmp
from gridstride.programs.toolchain.wheels import LIBRARY_HEADERS, Toolchain, environment, host_flags, toolchain

_COMPILES = {"-c", "-dc", "-dw", "-ptx", "-cubin", "-fatbin", "-cuda", "-E", "-M", "-MM", "-S", "-fsyntax-only"}
"""Steps that end before anything is linked."""
_CHOSEN_HERE = {
    *("-ccbin", "-arch", "-code", "-gencode", "-cudart", "-cudadevrt", "-G", "-lineinfo", "-no-compress", "-dlto"),
    *("-compress-mode", "-allow-unsupported-compiler", "-lto", "-arbin", "-t", "-split-compile", "-v", "-dryrun"),
}
"""Options of nvcc's that say nothing here: kernels are PTX of the chip, the host compiler is zig's."""
_NOT_OF_CLANG = {
    *OPTIONS,
    *("-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-no-pie", "-pie", "-fno-pie", "-fno-PIE"),
}
"""OpenMP has words of its own (toolchain.openmp), or is of one thread; an executable is loaded, so its code may lie
anywhere.
"""
_OF_LINKERS = {
    *("-L", "-l", "-z", "-o", "-Xlinker", "-Xnvlink", "-Xarchive", "-shared", "-link", "-dlink", "-lib", "-run")
}

_OLD_C = [f"-Wno-{what}" for what in ("implicit-function-declaration", "implicit-int")] + [
    f"-Wno-error={what}" for what in ("int-conversion", "incompatible-pointer-types")
]
"""C as gcc took it before its release 14: programs of the time are full of it."""


def main(tool: str) -> NoReturn:
    """`tool`: nvcc, c++ or cc. Ends with the compilers' exit status."""
    try:
        command = named_libraries(read(sys.argv[1:], NVCC if tool == "nvcc" else HOST))
        _check(tool, command)
        sys.exit(_nvcc(toolchain(), command) if tool == "nvcc" else _host(toolchain(), tool, command))
    except BuildFailed as failed:
        sys.stderr.write(f"{failed.output}{tool}: error: {failed}\n")
    except ProgramError as error:
        sys.stderr.write(f"{tool}: error: {error}\n")
    sys.exit(1)


def _check(tool: str, command: Sequence[Word]) -> None:
    """ProgramError for a file that is not there, or another compiler's."""
    for word in command:
        if not word.name and word.value != "-" and not Path(word.value).exists():
            raise ProgramError(f"there is no file {word.value}")
        if tool != "nvcc" and word.value.endswith(CUDA_SUFFIXES) and not word.name:
            raise ProgramError(f"{word.value} has kernels: nvcc compiles it")


def _nvcc(tools: Toolchain, command: Sequence[Word]) -> int:
    names = {word.name for word in command}
    supported = [word for word in command if word.name not in _CHOSEN_HERE]
    options = [*_fixed(tools, names), *_without_openmp(supported)]
    if not any(not word.name for word in command):  # --version, --help
        return _execute([str(tools.nvcc), *flat(command)])
    if names & {"-v", "-dryrun"}:
        status = _show_steps(tools, options)
        if status or "-dryrun" in names:
            return status
    if "-dlink" in names:
        return _device_link(tools, _target(command, "a_dlink.o"))
    if names & _COMPILES and "-lib" not in names:
        # a file of machine code is loaded by its name: a fat binary of PTX loads as well
        return _execute([str(tools.nvcc), *("-fatbin" if word in ("-cubin", "--cubin") else word for word in options)])
    compiler = [str(tools.nvcc), *_fixed(tools, names)]
    compiler += _without_openmp([word for word in supported if word.name and word.name not in _OF_LINKERS])
    target = _target(command, "a.out")

    def finish(linked: list[Word], folder: Path) -> int:
        if "-lib" in names:
            return _execute([str(tools.zig), "ar", "rcs", str(target), *(w.value for w in linked if not w.name)])
        words = [word for word in linked if not word.name or word.name in ("-L", "-l")] + _for_the_linker(command)
        status = _link(tools, Link(words, target, "-shared" in names, _arch()), folder)
        return status or (_execute([str(target.absolute())]) if "-run" in names else 0)

    return _with_objects(compiler, supported, finish)


def _host(tools: Toolchain, tool: str, command: Sequence[Word]) -> int:
    names = {word.name for word in command}
    supported = [word for word in command if word.name not in _NOT_OF_CLANG]
    compiler = [str(tools.zig), tool, *host_flags(), "-fPIC", *LINES, "-Wno-unknown-pragmas", "-Wno-source-uses-openmp"]
    compiler += _OLD_C if tool == "cc" else []
    library = openmp() if names & OPTIONS else None
    compiler += library.compiled if library is not None else []
    parallel = library.linked if library is not None else []
    if os.environ.get(CUDA11):
        compiler += ["-I", str(old_headers(tools)), *OLD_WORDS[False]]
    has_files = any(word.is_source or word.is_object_by_content for word in command)
    nothing_to_link = names & _COMPILES or all(word.name for word in command)
    if nothing_to_link or not (has_files or uses_cuda(command)):
        return _execute([*compiler, *flat(supported), *([] if names & _COMPILES else parallel)])

    def finish(linked: list[Word], folder: Path) -> int:
        if not uses_cuda(linked):
            return _execute([*compiler, *flat(linked), *parallel])
        words = [word for word in linked if word.name not in ("-o", "-shared")]
        return _link(tools, Link(words, _target(command, "a.out"), "-shared" in names, _arch()), folder)

    of_sources = [w for w in supported if w.name and w.name not in _OF_LINKERS and not w.raw[0].startswith("-Wl,")]
    return _with_objects([*compiler, *flat(of_sources)], supported, finish)


def _with_objects(compiler: Sequence[str], words: Sequence[Word], finish: Callable[[list[Word], Path], int]) -> int:
    """Compiles each source, and goes on with an object in its place; the status of the first that does not compile."""
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        linked = []
        for number, word in enumerate(words):
            target = Path(folder, f"{number}.o")
            if word.is_source:
                if status := _execute([*compiler, "-c", word.value, "-o", str(target)]):
                    return status
                linked.append(Word("", str(target), (str(target),)))
            elif word.is_object_by_content:  # zig goes by names
                target.symlink_to(Path(word.value).absolute())
                linked.append(Word("", str(target), (str(target),)))
            else:
                linked.append(word)
        return finish(linked, Path(folder))


def _arch() -> str:
    from gridstride.virtual.chips import chip

    return chip(settings_of(os.environ.get(SETTINGS, "")).chip).properties.arch


def _target(command: Sequence[Word], otherwise: str) -> Path:
    return next((Path(word.value) for word in command if word.name == "-o"), Path(otherwise))


def _host_compiler(tools: Toolchain) -> Path:
    return old_host_compiler(tools) if os.environ.get(CUDA11) else tools.host_compiler


def _fixed(tools: Toolchain, names: set[str]) -> list[str]:
    """What nvcc is told besides; optimised, as kernels are nowhere else slower."""
    code = _arch().replace("sm_", "compute_")
    old = ["-I", str(old_headers(tools)), *OLD_WORDS[True]] if os.environ.get(CUDA11) else []
    return [
        "-ccbin", str(_host_compiler(tools)), "-allow-unsupported-compiler", "-no-compress", "-gencode",
        f"arch={code},code={code}", "-lineinfo", "-Xcompiler", ",".join(("-fPIC", *LINES)), "-cudart", "none",
        *([] if "-O" in names else ["-O2"]), *old, "-I", str(LIBRARY_HEADERS),
    ]  # fmt: skip


def _show_steps(tools: Toolchain, options: Sequence[str]) -> int:
    """What nvcc would do, which CMake reads: with this folder in its own one's place."""
    command = [str(tools.nvcc), "-dryrun", *options]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment(), check=False)
    ours = Path(sys.argv[0]).absolute().parent
    shown = done.stderr.replace(str(tools.cuda), str(ours.parent)).replace(str(_host_compiler(tools).parent), str(ours))
    sys.stderr.write(shown)
    return done.returncode


def _device_link(tools: Toolchain, target: Path) -> int:
    """An object with nothing in it: what links the program links its kernels, when they are loaded."""
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        empty = Path(folder, "device_link.c")
        empty.touch()
        return _execute([str(tools.zig), "cc", *host_flags(), "-c", str(empty), "-o", str(target)])


def _without_openmp(words: Sequence[Word]) -> list[str]:
    """nvcc's words, and of the host compiler's those that zig's clang has; OpenMP's lead to its wheel."""
    result: list[str] = []
    for word in words:
        if word.name != "-Xcompiler":
            result += word.raw
            continue
        parts = word.value.strip("\"'").replace(" ", ",").split(",")  # a shell splits at blanks
        supported = [part for part in parts if part and part not in _NOT_OF_CLANG]
        if OPTIONS & set(parts) and (library := openmp()) is not None:
            supported += library.compiled
        result += ["-Xcompiler", ",".join(supported)] if supported else []
    return result


def _for_the_linker(words: Sequence[Word]) -> list[Word]:
    """What nvcc hands on: -Xlinker, and words for the host compiler that are the linker's."""
    parts = [part for word in words if word.name == "-Xlinker" for part in word.value.split(",")]
    host = [part for word in words if word.name == "-Xcompiler" for part in word.value.split(" ")]
    return [
        *(Word("-Xlinker", part, ("-Xlinker", part)) for part in parts),
        *(Word("-Wl", part, (part,)) for part in host if part.startswith("-Wl,")),
    ]


def _execute(command: Sequence[str]) -> int:
    """Messages go to stderr as make wants them, with ours behind them where we know what is missing."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment(), check=False)
    sys.stderr.write(done.stderr)
    if done.returncode and (reason := hint(done.stderr)):
        sys.stderr.write(f"gridstride{reason}\n")
    return done.returncode


def _link(tools: Toolchain, what: Link, folder: Path) -> int:
    if messages := link(tools, what, folder):
        sys.stderr.write(f"{messages}\n")
    return 0
