"""One run of clang: its command line, its messages and its PTX."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gridstride.compiler.bindings import NoCompiler
from gridstride.compiler.clang.clang_messages import parse_clang_log
from gridstride.compiler.clang.clang_options import clang_options
from gridstride.compiler.clang.clang_program import Clang, clang_environment
from gridstride.compiler.clang.clang_ptx import (
    NAME_KERNEL,
    TYPES_KERNEL,
    lowered_names,
    lowered_types,
    missing_math,
    with_user_places,
    without_added,
)  # fmt: skip
from gridstride.compiler.clang.cluster_dims import READ, cluster_dims, with_cluster_dims
from gridstride.compiler.clang.cuda_folder import REPLACEMENTS, CudaFolder
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome
from gridstride.compiler.diagnostics import CompileError, Diagnostic
from gridstride.compiler.headers import find_headers
from gridstride.compiler.names import NAME_MAP, explain_names
from gridstride.compiler.ways_out import with_way_out

Run = Callable[[Sequence[str], Path], tuple[int, str]]
"""Runs a command in a folder: exit status and messages."""
SECONDS = 120.0
"""How long clang may take for one source."""
_UNKNOWN_ARCH = re.compile(r"unsupported CUDA gpu architecture|(?:unknown|unsupported) target CPU")
_IGNORED = re.compile(r"unknown attribute '(?P<name>block_size)' ignored")
_NO_LIBRARY = "clang finds no C++ standard library, which CUDA's headers need: apt install libstdc++-12-dev"
_ALWAYS = (
    "-x", "cuda", "--cuda-device-only", "-S", "-fno-color-diagnostics", "-fno-caret-diagnostics",
    "-fno-diagnostics-fixit-info", "--no-default-config",
    "-Wno-unknown-cuda-version",  # CUDA 13's headers are newer than clang 19: what is missing then is an error itself
    "-Wno-pass-failed",  # a loop that was asked to be unrolled and was not: NVRTC says nothing of it
    "-D_NV_RSQRT_SPECIFIER=",  # defined in a header that clang's wrapper replaces, used in one that it includes
    "-D_CG_CLUSTER_INTRINSICS_AVAILABLE",  # for cooperative groups of clusters: clang has them on chips that have them
    # What nvcc brings along without any #include.
    "-include", "climits", "-include", "cstdint", "-include", "gridstride/clang_missing.h",
)  # fmt: skip


_BARE = ("-nocudainc", "-nocudalib", "--cuda-feature=+ptx80", "-include", "gridstride/clang_bare.h")


def run_clang(
    clang: Clang, cuda: CudaFolder, request: CompileRequest, stubs: Mapping[str, str], types: Sequence[str] = (),
    *, clusters: bool = False, run: Run,
) -> CompilerOutcome:  # fmt: skip
    """PTX or errors. `stubs` are headers that only host code needs, used where there is none; `types` are kernels whose
    parameter types are asked for; with `clusters`, some may have `__cluster_dims__`; `run` starts clang.

    Raises ValueError for an architecture that this clang does not know, NoCompiler where it cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="gridstride-clang-") as name:
        folder = Path(os.path.realpath(name))
        for header, text in stubs.items():
            (folder / "host" / header).parent.mkdir(parents=True, exist_ok=True)
            (folder / "host" / header).write_text(text)
        file, ptx = folder / "source" / "kernel.cu", folder / "kernel.ptx"
        file.parent.mkdir()
        file.write_text(_source(request, types))
        command = [*_command(clang, cuda, request, folder), str(file), "-o"]
        status, log = run([*command, str(ptx)], file.parent)
        diagnostics = _diagnostics(request, log.replace(f"{cuda.path}/include/", "") if cuda.path else log)
        if status or not ptx.is_file() or any(diagnostic.severity == "error" for diagnostic in diagnostics):
            return CompilerOutcome(_failure_diagnostics(clang, request, diagnostics, log))
        text = ptx.read_text(errors="replace")
        if clusters:
            ir = folder / "kernel.ll"
            run([*command, str(ir), "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-w", READ], file.parent)
            text = with_cluster_dims(text, cluster_dims(ir.read_text(errors="replace")))
        return _outcome(request, text, diagnostics, types, file.parent)


def _command(clang: Clang, cuda: CudaFolder, request: CompileRequest, folder: Path) -> list[str]:
    chosen = {option.partition("=")[0] for option in request.options}
    headers = [f"--cuda-path={cuda.path}"] if cuda.path else list(_BARE)
    words = [clang.path, *headers, *_ALWAYS, f"--cuda-gpu-arch={request.arch}"]
    if "--std" not in chosen:
        words.append("-std=c++17")
    if "--fmax-errors" not in chosen:
        words.append("-ferror-limit=0")
    if "--device-debug" not in chosen:
        words += ["-O3", "-gline-tables-only"]
    if cuda.path and not cuda.libdevice:
        words.append("-nocudalib")
    for path in request.include_paths:
        words += ["-I", str(path)]
    for path in cuda.includes:
        words += ["-isystem", str(path)]
    for path in (REPLACEMENTS, folder / "host"):
        words += ["-idirafter", str(path)]
    return [*words, *clang_options(request.options)]


def _source(request: CompileRequest, types: Sequence[str]) -> str:
    """The source under its own name, and behind it a kernel for each name and type that is asked for."""
    lines = [f"{_line(request.filename)}{request.source}\n"]
    for number, name in enumerate(request.names):
        lines.append(f"template <auto> __global__ void {NAME_KERNEL}{number}() {{}}\n{_line(NAME_MAP, number + 1)}")
        lines.append(f"template __global__ void {NAME_KERNEL}{number}<&{name.lstrip('&')}>();\n")
    for number, name in enumerate(types):
        lines.append(f"template <class> __global__ void {TYPES_KERNEL}{number}() {{}}\n")
        lines.append(f"template __global__ void {TYPES_KERNEL}{number}<decltype({name})>();\n")
    return "".join(lines)


def _line(filename: str, number: int = 1) -> str:
    return '#line {} "{}"\n'.format(number, filename.replace("\\", r"\\").replace('"', r"\""))


def run_program(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Exit status and messages of clang at work in a folder; NoCompiler where it takes too long or cannot be run."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            env=clang_environment() | {"TMPDIR": str(folder)}, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NoCompiler(f"{command[0]} was stopped: compiling took more than {SECONDS:g} s") from error
    except OSError as error:
        raise NoCompiler(f"{command[0]} cannot be run: {error.strerror or error}") from error
    return done.returncode, done.stderr


def _diagnostics(request: CompileRequest, log: str) -> tuple[Diagnostic, ...]:
    """Errors, and the warnings about the user's own code; names that do not fit are explained as NVRTC's are."""
    named = [
        _about_name(diagnostic, request)
        for diagnostic in parse_clang_log(log, filename=request.filename, source=request.source)
    ]
    explained = explain_names(named, filename=request.filename, source=request.source)
    missing = find_headers().missing
    return tuple(with_way_out(_not_ignored(diagnostic), missing) for diagnostic in explained)


def _not_ignored(diagnostic: Diagnostic) -> Diagnostic:
    """An attribute without which the kernel would be another one is an error where clang only warns."""
    match = _IGNORED.search(diagnostic.message)
    if match is None:
        return diagnostic
    message = f"this clang does not know __{match['name']}__"
    way_out = 'give the cluster at the launch (cluster=…), take a newer clang, or compile with compiler="nvrtc"'
    return replace(diagnostic, severity="error", message=message, notes=(way_out,))


def _about_name(diagnostic: Diagnostic, request: CompileRequest) -> Diagnostic:
    """What is said of an added line is about the name expression in it."""
    if diagnostic.file != NAME_MAP or not 0 < diagnostic.line <= len(request.names):
        return diagnostic
    name = request.names[diagnostic.line - 1]
    return Diagnostic(diagnostic.severity, NAME_MAP, 0, 0, diagnostic.message, f"#pragma nv_mangled_name {name}")


def _failure_diagnostics(
    clang: Clang, request: CompileRequest, diagnostics: tuple[Diagnostic, ...], log: str
) -> tuple[Diagnostic, ...]:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if any(_UNKNOWN_ARCH.search(diagnostic.message) for diagnostic in errors):
        raise ValueError(
            f"architecture {request.arch!r} is not one that clang {clang.major} ({clang.path}) compiles for: "
            'a newer clang may, or use compiler="nvrtc"'
        )
    if any(diagnostic.file != request.filename and "file not found" in diagnostic.message for diagnostic in errors):
        raise NoCompiler(f"{_NO_LIBRARY} ({errors[0].file}: {errors[0].message})")
    if errors:
        return diagnostics
    log_lines = log.strip().splitlines()
    return (
        *diagnostics,
        Diagnostic("error", request.filename, 0, 0, log_lines[-1] if log_lines else "clang failed", ""),
    )


def _outcome(
    request: CompileRequest, ptx: str, diagnostics: tuple[Diagnostic, ...], types: Sequence[str], folder: Path
) -> CompilerOutcome:
    if (function := missing_math(ptx)) is not None:
        wheels = " ".join(("nvidia-nvvm", *find_headers().missing))
        message = f"{function} is a function of libdevice, which is not installed: pip install {wheels}"
        raise CompileError([Diagnostic("error", request.filename, 0, 0, message, "")])
    own = str(Path(folder, request.filename))

    def written(path: str) -> str | None:
        """A file's name as the user knows it; None for what is no file of the user's."""
        if path == own or path == request.filename:
            return request.filename
        return path if any(Path(path).is_relative_to(include_path) for include_path in request.include_paths) else None

    names, parameter_types = lowered_names(ptx, request.names), lowered_types(ptx, types)
    return CompilerOutcome(diagnostics, with_user_places(without_added(ptx), written), names, parameter_types)
