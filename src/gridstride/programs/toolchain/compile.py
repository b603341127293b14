"""A source file to an object, kept on disk for as long as the file and all that it includes stay the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import DiskCache, shared
from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import CUDA_SUFFIXES, Options
from gridstride.programs.toolchain.libraries import Library, lacking
from gridstride.programs.toolchain.nvcc import CompilationPlan, Execute, Step, carry_out, module_name, planned
from gridstride.programs.toolchain.old_headers import asks_for_old, old_headers
from gridstride.programs.toolchain.openmp import openmp
from gridstride.programs.toolchain.precompiled import PrecompiledHeaders
from gridstride.programs.toolchain.runtime_functions import untold
from gridstride.programs.toolchain.texture_references import rewrite
from gridstride.programs.toolchain.wheels import LIBRARY_HEADERS, Toolchain, environment, wheel_of

_SEPARATE_COPY = "is treated as a static definition"
"""nvcc's warning of an `extern __device__` variable: another one of that name, which no other file has."""
_NEEDS_RELOCATABLE = re.compile(
    r"requires separate compilation mode|Unresolved extern (?:function|variable)"
    rf"|extern declaration of the entity \S+ {_SEPARATE_COPY}|redefinition of '\w+'\n\s*\d+ \| *static "
)
_NO_HEADER = re.compile(r"(?:could not open source file|fatal error:) [\"']([^\"']+)[\"']")
_NO_NAME = re.compile(r"""(?:identifier "|undeclared identifier '|undeclared function ')(\w+)["']""")
_LEAN = "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES"
"""Headers of the C++ library do not bring along others that a program has not asked for: 40 % less text, and reading it
is most of a compilation.
"""
_MAY_LACK_HEADERS = re.compile(
    r"undefined|undeclared|no member|no instance of|no matching|incomplete|implicit instantiation|unknown type name|"
    r"no operator|no template named|not a template|not a type|has not been declared|must be included|#include"
)
"""What compilers say where such a header is missing: then all of them are read. So no program is refused for it."""
OLD_WORDS = {
    True: ("-Wno-deprecated-declarations", "-Xcompiler", "-Wno-reserved-user-defined-literal"),
    False: ("-Wno-deprecated-declarations", "-Wno-reserved-user-defined-literal"),
}
"""For .cu files (True) and others, of CUDA 11: C++ of then had no suffixes behind strings, no space before a macro."""
LINES = ("-gline-tables-only", "-gdwarf-4")
"""Host code says of which line it is (`failed_calls.host_lines`), and no more."""
_AT_A_TIME = 2
_NO_MORE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Compiling:
    """By what compilers are started, and what they keep of headers from one time to the next."""

    execute: Execute
    headers: PrecompiledHeaders | None = None


def compile_all(
    tools: Toolchain, files: Sequence[Path], options: Options, *, arch: str, progress: Callable[[str], None],
    how: Compiling,
) -> tuple[list[bytes], Options]:  # fmt: skip
    """An object for each file, and the options as they were in the end: with `relocatable` where a file needs it.

    BuildFailed with what the compilers said.
    """
    try:
        return _objects(tools, files, options, arch, progress, how), options
    except BuildFailed as failed:
        if options.relocatable or not _NEEDS_RELOCATABLE.search(failed.output):
            raise
    options = replace(options, relocatable=True)
    progress("a kernel uses what another file defines, or launches kernels itself: once more with -rdc=true")
    return _objects(tools, files, options, arch, progress, how), options


def _objects(
    tools: Toolchain, files: Sequence[Path], options: Options, arch: str, progress: Callable[[str], None],
    how: Compiling,
) -> list[bytes]:  # fmt: skip
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        return list(pool.map(lambda file: _object(tools, file, options, arch, progress, how), files))


def _object(
    tools: Toolchain, file: Path, options: Options, arch: str, progress: Callable[[str], None], how: Compiling
) -> bytes:
    command = compile_command(tools, file, options, arch)
    cache = shared("objects")
    # The words may be relative to where we are: another folder's prog.cu is another file.
    stem = sha256("\0".join([tools.identity, os.getcwd(), *command]).encode(errors="surrogateescape")).hexdigest()
    cached = _cached_object(cache, stem)
    if cached is not None:
        return cached
    progress(f"compiling {file}")
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target, depfile = Path(folder, "object.o"), Path(folder, "object.d")
        step = partial(_device_and_host, old=options.cuda11) if file.suffix in CUDA_SUFFIXES else _host_only
        try:
            message = step(file, [*command, _LEAN], target, depfile, how, stem)
        except BuildFailed as failed:
            if not _MAY_LACK_HEADERS.search(failed.output):
                raise
            message = step(file, command, target, depfile, how, stem)
        data = target.read_bytes()
        read = [path for path in dependencies(depfile.read_text(errors="replace")) if not tools.is_part(path)]
    if message:
        progress(message.rstrip())
    inputs = [str(path.absolute()) for path in {file, *read}]
    cache.put(f"{stem} reads", json.dumps(inputs).encode())
    if (digest := _digest(inputs)) is not None:
        cache.put(f"{stem} {digest}", data)
    return data


def _host_only(
    file: Path, command: Sequence[str], target: Path, depfile: Path, how: Compiling, _: str
) -> str:  # fmt: skip
    done = how.execute([*command, "-MD", "-MF", str(depfile), "-o", str(target)], target.parent, {})
    return _checked_message(file, target, *done)


def _device_and_host(
    file: Path, command: Sequence[str], target: Path, depfile: Path, how: Compiling, stem: str, *, old: bool
) -> str:  # fmt: skip
    """nvcc's steps, or no more than those that preprocess where what they give is known.

    `old`: between them, references of CUDA 11 are rewritten.
    """
    folder, cache = target.parent, shared("objects")
    words = [*command, "-MD", "-MF", str(depfile), "-o", str(target), *listing(folder)]
    status, listed = how.execute(words, folder, {})
    plan = planned(listed, module_name(file, _read(file)))
    if status or not 0 < len(plan.preprocessing) < len(plan.steps):  # a flag of the user's wants something else
        return _checked_message(file, target, status, listed)
    preprocessing = plan.preprocessing
    status, message = carry_out(_with_depfiles(_told_apart(plan, stem), depfile), preprocessing, how.execute, folder)
    if status:
        return _checked_message(file, target, status, message)
    if old:
        for text in plan.preprocessed:
            rewrite(text)
    key = f"{stem} text {_text_digest(plan, folder)}"
    if (cached := cache.get(key)) is not None:
        target.write_bytes(cached)
        return message
    status, more = _compiled(plan, str(file), how, folder)
    message = _checked_message(file, target, status, message + more)
    cache.put(key, target.read_bytes())
    return message


def _compiled(plan: CompilationPlan, source: str, how: Compiling, folder: Path) -> tuple[int, str]:
    """All steps behind those that preprocess."""
    *numbers, last = (number for number in range(len(plan.steps)) if number not in plan.preprocessing)
    status, message = carry_out(plan, numbers, how.execute, folder)
    if status:
        return status, message
    if how.headers is None:
        status, more = carry_out(plan, [last], how.execute, folder)
        return status, message + more
    shorter = how.headers.used_in(plan, source, how.execute, folder)
    status, more = carry_out(shorter, [last], how.execute, folder)
    if status and shorter is not plan:
        status, more = carry_out(plan, [last], how.execute, folder)  # what is wrong is said of the whole text
        if not status:
            how.headers.forget(shorter)
    return status, message + more


def _told_apart(plan: CompilationPlan, stem: str) -> CompilationPlan:
    """The plan with a word of its own for what preprocesses: zig keeps the texts by a file's absolute path, and they
    name it by the relative one of the first time.
    """
    steps = list(plan.steps)
    for number in plan.preprocessing:
        steps[number] = Step((*steps[number].words, f"-D__GRIDSTRIDE_STEM__={stem}"), steps[number].after)
    return CompilationPlan(tuple(steps), plan.environment)


def _with_depfiles(plan: CompilationPlan, depfile: Path) -> CompilationPlan:
    """The plan with the host's preprocessor saying what it reads; the device's reads the same or less."""
    reads = plan.preprocessing
    host = [n for n in reads if not any(word.startswith("-D__CUDA_ARCH__=") for word in plan.steps[n].words)]
    number = (host or reads)[-1]
    steps = list(plan.steps)
    steps[number] = Step((*steps[number].words, "-MD", "-MF", str(depfile)), steps[number].after)
    return CompilationPlan(tuple(steps), plan.environment)


def listing(folder: Path) -> list[str]:
    """nvcc's words for a list of its steps, whose files lie in a folder."""
    return ["--dryrun", "-keep", "-keep-dir", str(folder)]


def _text_digest(plan: CompilationPlan, folder: Path) -> str:
    """Of all that the source and its headers come to, comments left out."""
    texts = [text.read_bytes().replace(os.fsencode(folder), b"") for text in plan.preprocessed]
    return sha256(b"".join(sha256(text).digest() for text in texts)).hexdigest()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the compiler says so
        return b""


def _checked_message(file: Path, target: Path, status: int, message: str) -> str:
    """What the compilers say of a file that they compile; BuildFailed where they do not, or not what was meant."""
    if status or not target.is_file() or _SEPARATE_COPY in message:
        raise BuildFailed(f"{file} does not compile{hint(message)}", message)
    return message


def library_objects(
    tools: Toolchain, library: Library, *, arch: str, progress: Callable[[str], None]
) -> list[bytes]:  # fmt: skip
    """An object for each source of a library of ours, whichever folder we are in; BuildFailed."""
    headers = [path.read_text() for path in library.headers]
    return [_library_object(tools, source, headers, arch, progress) for source in library.sources]


def _library_object(
    tools: Toolchain, source: Path, headers: Sequence[str], arch: str, progress: Callable[[str], None]
) -> bytes:  # fmt: skip
    command = compile_command(tools, source, Options(define=untold()), arch)
    parts = [tools.identity, *command, source.read_text(), *headers]
    key = f"library {sha256(chr(0).join(parts).encode()).hexdigest()}"
    cache = shared("objects")
    cached = cache.get(key)
    if cached is not None:
        return cached
    progress(f"compiling {source.parent.name}/{source.name} of GridStride's own libraries, once")
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target = Path(folder, "object.o")
        status, message = execute([*command, "-o", str(target)])
        if status or not target.is_file():
            raise BuildFailed(f"{source} does not compile", message)
        data = target.read_bytes()
    cache.put(key, data)
    return data


def execute(command: Sequence[str], _: Path | None = None, more: Mapping[str, str] = _NO_MORE) -> tuple[int, str]:
    """Run a compiler with one's own rights: exit status and messages."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        env={**environment(), **more},
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout + done.stderr


def _cached_object(cache: DiskCache, stem: str) -> bytes | None:
    reads = cache.get(f"{stem} reads")
    digest = _digest(json.loads(reads)) if reads is not None else None
    return cache.get(f"{stem} {digest}") if digest is not None else None


def _digest(inputs: Iterable[str]) -> str | None:
    """Of all that a file is compiled from; None where one of them is gone."""
    try:
        return sha256(
            "\0".join(f"{p}\0{sha256(Path(p).read_bytes()).hexdigest()}" for p in sorted(inputs)).encode()
        ).hexdigest()
    except OSError:
        return None


def compile_command(tools: Toolchain, file: Path, options: Options, arch: str) -> list[str]:
    """The words of one compilation, without where the object goes."""
    old = (str(old_headers(tools)),) if options.cuda11 else ()
    include = [word for folder in (*old, *options.include, str(LIBRARY_HEADERS)) for word in ("-I", folder)]
    include += [*OLD_WORDS[file.suffix in CUDA_SUFFIXES]] if old else []
    define = [f"-D{definition}" for definition in options.define]
    std = [f"-std={options.std}"] if options.std else []
    library = openmp() if options.openmp else None
    parallel = library.compiled if library is not None else ()
    if file.suffix not in CUDA_SUFFIXES:
        std = [] if file.suffix == ".c" and (options.std or "").startswith("c++") else std
        language = ["-x", "c", "-Wno-implicit-function-declaration"] if file.suffix == ".c" else []
        cuda = [f"-I{tools.cuda / 'include'}", f"-I{tools.cuda / 'include' / 'cccl'}"]
        words = [*include, *cuda, *define, *std, *language, "-c", str(file)]
        return [str(tools.host_compiler), "-O2", "-fPIC", *LINES, *parallel, *words]
    code, host = arch.replace("sm_", "compute_"), ",".join(("-fPIC", *LINES, *parallel))
    return [
        str(tools.nvcc), "-ccbin", str(tools.host_compiler), "-allow-unsupported-compiler", "-no-compress",
        "-gencode", f"arch={code},code={code}", "-lineinfo", "-O2", "-Xcompiler", host, "-cudart", "none", *include,
        *define, *std, *options.flags, *(["-rdc=true"] if options.relocatable else []), "-c", str(file),
    ]  # fmt: skip


def dependencies(text: str) -> list[Path]:
    """The files of a rule as make reads it: "object.o: a.cu b.h \\"."""
    _, _, prerequisites = text.replace("\\\n", " ").partition(": ")
    first = prerequisites.split("\n", 1)[0]
    return [Path(path.replace("\\ ", " ")) for path in re.findall(r"(?:\\ |\S)+", first)]


def hint(message: str) -> str:
    """What a message of the compilers is about and what mends it, where that is known: behind a colon, or nothing."""
    missing = _NO_HEADER.search(message)
    if old := asks_for_old(message):
        return f": {old}"
    if missing is None:
        reasons = (lacking(name) for name in _NO_NAME.findall(message))
        return next((f": {reason}" for reason in reasons if reason), "")
    wheel = wheel_of(missing[1])
    if wheel is not None:
        return f": {missing[1]} is of the wheel {wheel} (pip install {wheel})"
    return f": {missing[1]} is not found; -I DIR names a folder to look in"
