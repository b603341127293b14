"""Objects to one shared object with the program's main(), linked against our own libcudart."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import shared
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.libraries import OWN, lacking
from gridstride.programs.toolchain.nvcc import Execute
from gridstride.programs.toolchain.openmp import link_words
from gridstride.programs.toolchain.wheels import Toolchain, environment, host_flags, zig_cache

_UNDEFINED = re.compile(r"undefined symbol: (.+)")
_OPENS = """void *gs_dlopen(const char *name, int flags);
__attribute__((visibility("hidden"))) void *dlopen(const char *name, int flags) { return gs_dlopen(name, flags); }"""
"""Of the whole program: who opens libcuda.so.1 by name gets ours."""
_DUPLICATE_MAIN = re.compile(r"duplicate symbol: main\b")
_LINKED_BINARY = re.compile(rb"__cudaRegisterLinkedBinary_[0-9A-Za-z_]+")
_MAIN = b"\0main\0"
"""How the name lies in a shared object that has it."""
_AS_EXECUTABLE = ("-Wl,-Bsymbolic",)
"""What a program defines itself it uses itself, whatever libraries have by that name: a variable called cuInit, say."""
_SHOWN = 8
PROVIDED = {
    *("cudart", "cudart_static", "cudadevrt", "cuda", "nvrtc", "nvJitLink"),
    *("m", "pthread", "dl", "rt", "gomp", "omp", "stdc++"),
}
"""Libraries that are there whether they are named or not, or that are not needed here."""
_REFUSED = {
    **dict.fromkeys("cublasLt cusparseLt".split(), "our own are not there yet"),
    **dict.fromkeys("npp nvjpeg cusolver cudnn nccl cufftw nvml nvidia-ml".split(), "they need NVIDIA's GPU"),
    "nvJitLink": "it is not installed, or another release than its header: pip install nvidia-nvjitlink",
    "cuda": "it is no function of CUDA 13's, or one that shares memory with a graphics interface",
    "nvrtc": "it is no function of CUDA 13's NVRTC",
}
_PREFIXES = {
    **{name: name for name in "cublasLt cusparseLt cusolver npp nvjpeg cudnn nccl nvrtc nvml nvJitLink".split()},
    "__nvJitLink": "nvJitLink",
    "cu": "cuda",
}
"""What the names of libraries' functions begin with."""


def link(
    tools: Toolchain, objects: Sequence[bytes], options: Options, *, runtime: bytes, progress: Callable[[str], None],
    run: Execute,
) -> bytes:  # fmt: skip
    """The program; BuildFailed."""
    named = [name for name in options.libraries if name not in PROVIDED | {library.name for library in OWN}]
    for name in named:
        if (reason := _REFUSED.get(name)) is not None:
            raise BuildFailed(f"-l{name} cannot be linked: {reason}", "")
    key = sha256(
        b"\0".join(
            [
                tools.identity.encode(),
                *(sha256(object_).digest() for object_ in (*objects, runtime)),
                *map(str.encode, (*named, *link_words(objects))),
            ]
        )
    ).hexdigest()
    cache = shared("programs")
    cached = cache.get(key)
    if cached is not None:
        return cached
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        program = _link(tools, Path(folder), objects, named, runtime, run)
    cache.put(key, program)
    return program


def first_link() -> bool:
    """Whether nothing was ever linked with this cache: zig must build libc++ first."""
    return not any(zig_cache().glob("o/*/libc++.a"))


@contextlib.contextmanager
def warm_up(tools: Toolchain, *, progress: Callable[[str], None]) -> Iterator[None]:
    """Inside, zig builds its C++ library beside the first compilation; the end waits for it, unless by an error."""
    if not first_link():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        command = [str(tools.zig), "c++", *host_flags(), "-shared", "-x", "c++", "/dev/null", "-o", f"{folder}/none.so"]
        quiet = subprocess.DEVNULL
        building = subprocess.Popen(command, env=environment(), stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            yield
            if building.poll() is None:
                progress("zig builds its C++ library, this once: about a minute of processor time")
            building.wait()
        finally:
            building.kill()
            building.wait()


def _link(
    tools: Toolchain, folder: Path, objects: Sequence[bytes], libraries: Sequence[str], runtime: bytes,
    run: Execute,
) -> bytes:  # fmt: skip
    names = []
    for number, data in enumerate(objects):
        names.append(str(folder / f"{number}.o"))
        Path(names[-1]).write_bytes(data)
    stubs = folder / "linked_binaries.c"
    stubs.write_text(linked_binaries(objects))
    (folder / "libcudart.so").write_bytes(runtime)
    target = folder / "program.so"
    command = [
        str(tools.zig), "c++", *host_flags(), "-O2", "-shared", "-fPIC", "-Wl,-z,defs", *_AS_EXECUTABLE, *names,
        str(stubs), f"-L{folder}", "-lcudart", *(f"-l{name}" for name in libraries), *link_words(objects),
        "-lm", "-lpthread", "-ldl", "-o", str(target),
    ]  # fmt: skip
    status, message = run(command, folder, {})
    if status or not target.is_file():
        raise not_linked(message)
    program = target.read_bytes()
    if _MAIN not in program:
        raise BuildFailed("the program does not link: no file has a function main()", "")
    return program


def linked_binaries(objects: Sequence[bytes]) -> str:
    """C that defines what each relocatable object calls to register itself, with an identifier of its own."""
    names = dict.fromkeys(name.decode() for object_ in objects for name in _LINKED_BINARY.findall(object_))
    lines = ["void gs_register_linked(void (*)(void **), void *);", _OPENS]
    lines += [
        f"void {name}(void (*registers)(void **), void *wrapper, void *id, void (*used)(void *)) "
        "{ (void)id; (void)used; gs_register_linked(registers, wrapper); }"
        for name in names
    ]
    return "\n".join(lines) + "\n"


def not_linked(message: str) -> BuildFailed:
    """In words of ours where they say it all, else with the linker's."""
    if _DUPLICATE_MAIN.search(message):
        return BuildFailed(
            "the program does not link: there are two functions main(); name the files of one program", ""
        )
    undefined = list(dict.fromkeys(name.strip() for name in _UNDEFINED.findall(message)))
    for name in undefined:
        if (reason := lacking(name)) is not None:
            return BuildFailed(f"the program does not link: {reason}", "")
        library = next((library for prefix, library in _PREFIXES.items() if re.match(rf"{prefix}[A-Z]", name)), None)
        if library is not None and (reason := refusal(library)):
            return BuildFailed(
                f"the program does not link: {name} is of {library}, which cannot be linked: {reason}", ""
            )
    if undefined:
        names = ", ".join(undefined[:_SHOWN]) + (f" and {len(undefined) - _SHOWN} more" * (len(undefined) > _SHOWN))
        return BuildFailed(
            f"the program does not link: nothing defines {names}; name all files of the program, or -l LIBRARY", ""
        )
    return BuildFailed("the program does not link", message)


def refusal(library: str) -> str | None:
    """Why a library cannot be linked; None for one that is not known."""
    return _REFUSED.get(library)
