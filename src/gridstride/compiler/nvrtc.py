"""CUDA C++ to PTX through NVRTC, with headers from wheels and a cache on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gridstride.compiler.bindings import call, load, open_program, supported_archs, text_of
from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.diagnostics import CompileError, Diagnostic, parse_log
from gridstride.compiler.headers import distribution_version, find_headers
from gridstride.compiler.includes import check_includes, dependencies
from gridstride.compiler.lexer import Text
from gridstride.compiler.names import explain_names, kernel_names
from gridstride.compiler.options import check_options

_CACHE_FORMAT = "1"  # of the entries; raise it when what is stored, or how NVRTC is called, changes
_ARCH = re.compile(r"(?:sm|compute)_(?P<number>\d{2,3})(?P<variant>[af]?)")
_FIRST = {"": 0, "a": 90, "f": 100}  # the first architecture with each variant


@dataclass(frozen=True, slots=True)
class Compiled:
    """PTX as NVRTC wrote it, but for the source's own name in .file, which is as given.

    `names` has the lowered name of every name expression asked for, and of each kernel that is neither a template nor
    overloaded, by its name in the source.
    """

    ptx: str
    names: Mapping[str, str]
    source: str
    filename: str
    arch: str
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Request:
    source: str
    names: tuple[str, ...]
    arch: str
    options: tuple[str, ...]
    filename: str
    include_paths: tuple[Path, ...]


def compile_cuda(
    source: str,
    *,
    names: Sequence[str] = (),
    arch: str = "sm_90a",
    options: Sequence[str] = (),
    filename: str = "kernel.cu",
    include_paths: Sequence[str | Path] = (),
) -> Compiled:
    """Compile CUDA C++ to PTX, with line information and, unless an option says otherwise, as C++17.

    `names` are name expressions of template instances ("tile<float, 16>") and need not list plain kernels. Headers of
    CUDA, CUB, libcu++ and C are found without being told; others only in `include_paths`.

    Raises CompileError for the source and the names, ValueError for an architecture, option or file name that cannot
    be, RuntimeError where NVRTC itself is missing.
    """
    folders = tuple(Path(path).absolute() for path in include_paths)
    request = _Request(
        _checked_source(source, filename),
        tuple(dict.fromkeys(_checked_line("name expression", name) for name in names)),
        _checked_line("architecture", arch),
        check_options(options),
        _checked_line("file name", filename),
        folders,
    )
    cache = shared_cache("ptx")
    key = _key(request)
    compiled = _decoded(cache.get(key), request) if key else None
    if compiled is None:
        check_includes(Text(source), filename=filename, include_paths=folders)
        compiled = _compile(request)
        if key:
            cache.put(key, _encoded(compiled))
    return compiled


def _checked_source(source: str, filename: str) -> str:
    if not isinstance(source, str):
        raise TypeError(f"CUDA source must be a str, not {type(source).__name__}")
    try:
        bad = source.find("\0")
        problem = "a NUL character" if bad >= 0 else ""
        source.encode()
    except UnicodeEncodeError as error:
        bad, problem = error.start, "a surrogate that is no character"
    if not source.strip():
        raise CompileError([Diagnostic("error", filename, 1, 1, "the source is empty", "")])
    if problem:
        text = Text(source)
        line = source.count("\n", 0, bad) + 1
        column = bad - source.rfind("\n", 0, bad)
        shown = text.line(line).encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        raise CompileError([Diagnostic("error", filename, line, column, f"the source holds {problem}", shown)])
    return source


def _checked_line(what: str, text: str) -> str:
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise ValueError(f"{what} {text!r} is not one line of printable text")
    return text


def _key(request: _Request) -> str | None:
    """What the result depends on, hashed; None when that cannot be known (a header's name made by a macro)."""
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    if files is None:
        return None
    nvrtc = distribution_version("nvidia-cuda-nvrtc") or str(call(load().nvrtcVersion()))
    digest = blake2b(digest_size=32)
    for part in (_CACHE_FORMAT, nvrtc, find_headers().version, repr(request)):
        digest.update(part.encode() + b"\0")
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _encoded(compiled: Compiled) -> bytes:
    warnings = [asdict(warning) for warning in compiled.warnings]
    return json.dumps({"ptx": compiled.ptx, "names": dict(compiled.names), "warnings": warnings}).encode()


def _decoded(data: bytes | None, request: _Request) -> Compiled | None:
    if data is None:
        return None
    entry: dict[str, Any] = json.loads(data)
    warnings = tuple(Diagnostic(**{**warning, "notes": tuple(warning["notes"])}) for warning in entry["warnings"])
    return Compiled(entry["ptx"], entry["names"], request.source, request.filename, request.arch, warnings)


def _compile(request: _Request) -> Compiled:
    nvrtc = load()
    options = [option.encode() for option in _nvrtc_options(request)]
    line_directive = '#line 1 "{}"\n'.format(request.filename.replace("\\", r"\\").replace('"', r"\""))
    with open_program(nvrtc, line_directive + request.source) as program:
        for name in request.names:
            call(nvrtc.nvrtcAddNameExpression(program, name.encode()))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise ValueError(f"{log.strip()} (architecture {request.arch!r}, options {list(request.options)})")
        diagnostics = _diagnostics(request, log)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            nothing_said = Diagnostic("error", request.filename, 0, 0, log.strip() or "compilation failed", "")
            failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
            raise CompileError(diagnostics if failed else [*diagnostics, nothing_said])
        call((status,))
        ptx = _renamed(text_of(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), request.filename)
        asked = {name: call(nvrtc.nvrtcGetLoweredName(program, name.encode())).decode() for name in request.names}
    return Compiled(ptx, kernel_names(ptx) | asked, request.source, request.filename, request.arch, tuple(diagnostics))


def _nvrtc_options(request: _Request) -> list[str]:
    """Our options, then the request's: folders, C++17 and line information unless the request has its own."""
    given = {option.partition("=")[0] for option in request.options}
    options = [f"--gpu-architecture={_virtual_arch(request.arch)}"]
    options += [f"--include-path={folder}" for folder in (*request.include_paths, *find_headers().roots)]
    if "--std" not in given:
        options.append("--std=c++17")
    if "--device-debug" not in given:
        options.append("--generate-line-info")
    return [*options, *request.options]


def _virtual_arch(arch: str) -> str:
    """compute_90a for sm_90a: for a real one NVRTC would also run ptxas, which takes as long again."""
    match = _ARCH.fullmatch(arch)
    supported = supported_archs()
    if not match or f"sm_{match['number']}" not in supported or int(match["number"]) < _FIRST[match["variant"]]:
        raise ValueError(
            f"architecture {arch!r} is not one that this NVRTC compiles for: "
            f"{', '.join(supported)} (from sm_90 on also with 'a', as in sm_90a, from sm_100 on with 'f')"
        )
    return f"compute_{match['number']}{match['variant']}"


def _diagnostics(request: _Request, log: str) -> list[Diagnostic]:
    """Errors, and the warnings about the user's own code."""
    headers = find_headers()
    parsed = parse_log(log, filename=request.filename, source=request.source)
    explained = explain_names(parsed, filename=request.filename, source=request.source)
    return [_with_way_out(d, headers.missing) for d in explained if d.severity == "error" or not headers.hold(d.file)]


_NOTES = {
    "device-side kernel launch could not be processed":
        'kernels that launch kernels are relocatable code: options=("-rdc=true",)',
    'identifier "cudaDeviceSynchronize" is undefined':
        "a kernel cannot wait for the kernels it launches since CUDA 12: launch what needs their results into "
        "cudaStreamTailLaunch, or from the host",
}  # fmt: skip
"""What to do about errors of which NVRTC says only that they are."""


def _with_way_out(diagnostic: Diagnostic, missing: Sequence[str]) -> Diagnostic:
    known = next((note for words, note in _NOTES.items() if words in diagnostic.message), None)
    if known:
        return replace(diagnostic, notes=(*diagnostic.notes, known))
    if "cannot open source file" not in diagnostic.message:
        return diagnostic
    note = "searched: include_paths, then the headers of C, C++ (as far as device code has them), CUDA, CUB and libcu++"
    if missing:
        note = f"CUDA's own headers are missing: pip install {' '.join(missing)}"
    place = (diagnostic.severity, diagnostic.file, diagnostic.line, diagnostic.column)
    return Diagnostic(*place, diagnostic.message, diagnostic.source_line, (*diagnostic.notes, note))


def _renamed(ptx: str, filename: str) -> str:
    """NVRTC puts the working folder before a relative name in .file; a cached PTX must not depend on it."""
    try:
        here = str(Path.cwd() / filename)
    except OSError:  # the working folder was deleted
        return ptx
    return ptx.replace(f'"{_escaped(here)}"', f'"{_escaped(filename)}"', 1)


def _escaped(text: str) -> str:
    """A string as PTX has it: quotes and backslashes behind a backslash, bytes past ASCII in octal."""
    escapes = {ord('"'): r"\"", ord("\\"): r"\\"}
    return "".join(escapes.get(byte) or (chr(byte) if byte < 128 else f"\\{byte:03o}") for byte in text.encode())
