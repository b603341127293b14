"""CUDA C++ to PTX through NVRTC, with headers from wheels and a cache on disk."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gridstride.compiler.bindings import call, load, open_program, supported_archs, text_of
from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.diagnostics import CompileError, Diagnostic, parse_log
from gridstride.compiler.headers import distribution_version, find_headers
from gridstride.compiler.host_code import (
    DevicePart,
    explain_host_use,
    has_no_side,
    is_about_host_code,
    macros_of,
    without_host_noise,
)
from gridstride.compiler.host_headers import host_stubs
from gridstride.compiler.includes import check_includes, dependencies, find_includes
from gridstride.compiler.lexer import Text
from gridstride.compiler.names import explain_names, kernel_names
from gridstride.compiler.options import check_options
from gridstride.compiler.signature import kernels_of_unsure_types
from gridstride.compiler.ways_out import with_way_out

_CACHE_FORMAT = "3"  # of the entries; raise it when what is stored, or how NVRTC is called, changes
_ARCH = re.compile(r"(?:sm|compute)_(?P<number>\d{2,3})(?P<variant>[af]?)")
_PRELUDE = "#include <gridstride/nvcc.h>\n"
_TYPES_OF = "gridstride_types_of"  # a variable template over a kernel's type, whose lowered name spells that type
_TYPES_VARIABLE = re.compile(rf"^.*\.global .*\b_Z\d+{_TYPES_OF}\w+;\n", re.MULTILINE)
_REDECLARED = re.compile(r'invalid redeclaration of type name "(u?int|u|ss|ush|ul|uint)')
_COUNTS_ERRORS = (13, 5)  # NVRTC that has --fmax-errors (13.0 refuses it); elsewhere host code goes in more rounds
_ROUNDS = 12  # of taking host code out: what is behind a syntax error is seen in the next one
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
    types: Mapping[str, str] = field(default_factory=dict)
    """Mangled names that hold the parameter types of kernels whose own do not, by lowered name (see mangling.py)."""


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
    return json.dumps(
        {"ptx": compiled.ptx, "names": dict(compiled.names), "warnings": warnings, "types": dict(compiled.types)}
    ).encode()


def _decoded(data: bytes | None, request: _Request) -> Compiled | None:
    if data is None:
        return None
    entry: dict[str, Any] = json.loads(data)
    warnings = tuple(Diagnostic(**{**warning, "notes": tuple(warning["notes"])}) for warning in entry["warnings"])
    where = (request.source, request.filename, request.arch)
    return Compiled(entry["ptx"], entry["names"], *where, warnings, entry["types"])


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one run of NVRTC gave; without PTX where it failed."""

    diagnostics: tuple[Diagnostic, ...]
    ptx: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> list[Diagnostic]:
        return [each for each in self.diagnostics if each.severity == "error"]


def _compile(request: _Request) -> Compiled:
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    outcome = _run(request, request.source, _stubs(request, files or {}))
    library = find_headers()
    if any(is_about_host_code(each) or library.hold(each.file) for each in outcome.errors):
        outcome = _device_part(request, outcome, files or {})
    if outcome.ptx is None:
        raise CompileError(without_host_noise(outcome.diagnostics))
    names = kernel_names(outcome.ptx) | dict(outcome.names)
    where = (request.source, request.filename, request.arch)
    return Compiled(outcome.ptx, names, *where, outcome.diagnostics, outcome.types)


def _stubs(request: _Request, files: Mapping[Path, bytes]) -> dict[str, str]:
    """Headers that only host code needs, of those that the source and the user's headers include."""
    texts = [request.source, *(content.decode(errors="replace") for content in files.values())]
    includes = [each for text in texts for each in find_includes(Text(text))]
    return host_stubs(includes, (*request.include_paths, *(path.parent for path in files)))


def _device_part(request: _Request, outcome: _Outcome, files: Mapping[Path, bytes]) -> _Outcome:
    """Compile without the host code that NVRTC names, until it names no more; its last word where that is an error."""
    texts = {request.filename: request.source} | {
        str(path): content.decode(errors="replace") for path, content in files.items()
    }
    macros = {name: text for each in texts.values() for name, text in macros_of(each).items()}
    parts = {request.filename: DevicePart(request.source, macros)}
    if not parts[request.filename].is_device_code:
        return outcome
    stubs = _stubs(request, files)
    latest = (request, request.source, stubs)
    for _ in range(_ROUNDS):
        progress = False
        for file in {each.file for each in outcome.errors}:
            if file not in texts and find_headers().hold(file) and os.path.isfile(file):
                texts[file] = Path(file).read_text(errors="replace")  # NVIDIA's own, of which NVRTC takes not all
            if file not in texts:
                continue
            part = parts.setdefault(file, DevicePart(texts[file], macros))
            progress |= part.take_out(each for each in outcome.errors if each.file == file)
        if not progress:
            break
        own = parts[request.filename].text()
        headers = {
            name: f"{_line_directive(file)}{part.text()}"
            for file, part in parts.items()
            if file != request.filename
            for name in _include_names(Path(file), (*request.include_paths, *find_headers().roots))
        }
        folders = {path.parent for path in map(Path, parts) if path in files} - set(request.include_paths)
        paths = (*request.include_paths, *sorted(folders))
        latest = (replace(request, include_paths=paths), own, stubs | headers)
        outcome = _run(*latest)
        if outcome.ptx is not None:
            return outcome
    if outcome.errors and all(has_no_side(each) for each in outcome.errors):
        # What is left is in device code: NVRTC 13.0 takes a generic lambda in a kernel for a host function.
        given, own, headers = latest
        asked = _run(replace(given, options=(*given.options, "--device-as-default-execution-space")), own, headers)
        if asked.ptx is not None:
            return asked
    missing = {name: where for part in parts.values() for name, where in part.names.items()}
    explained = tuple(explain_host_use(each, missing) for each in outcome.diagnostics)
    return replace(outcome, diagnostics=explained)


def _include_names(path: Path, folders: Sequence[Path]) -> Iterator[str]:
    """What an #include may call a header: its path below any of the folders, and of a user's its bare name."""
    below = [path.relative_to(folder).as_posix() for folder in folders if path.is_relative_to(folder)]
    yield from below
    if not find_headers().hold(str(path)) and path.name not in below:
        yield path.name


def _line_directive(filename: str) -> str:
    return '#line 1 "{}"\n'.format(filename.replace("\\", r"\\").replace('"', r"\""))


def _run(request: _Request, source: str, headers: Mapping[str, str], prelude: str = _PRELUDE) -> _Outcome:
    """Compile once more where what was added to the source does not go with it."""
    asked = {name: f"&{_TYPES_OF}<decltype({name})>" for name in kernels_of_unsure_types(source)}
    outcome = _run_once(request, source, headers, prelude, asked)
    if outcome.ptx is None and asked:  # a kernel that an #if leaves out, an overloaded one
        outcome = _run_once(request, source, headers, prelude, {})
    if outcome.ptx is None and prelude and any(_REDECLARED.search(each.message) for each in outcome.diagnostics):
        return _run(request, source, headers, prelude="")  # the source has a uint of its own, say
    return outcome


def _run_once(
    request: _Request, source: str, headers: Mapping[str, str], prelude: str, types: Mapping[str, str]
) -> _Outcome:
    nvrtc = load()
    options = [option.encode() for option in _nvrtc_options(request)]
    prelude += f"template <class> __device__ char {_TYPES_OF};\n" if types else ""
    text = f"{prelude}{_line_directive(request.filename)}{source}"
    with open_program(nvrtc, text, headers) as program:
        for name in (*request.names, *types.values()):
            call(nvrtc.nvrtcAddNameExpression(program, name.encode()))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise ValueError(f"{log.strip()} (architecture {request.arch!r}, options {list(request.options)})")
        diagnostics = _diagnostics(request, log)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            nothing_said = Diagnostic("error", request.filename, 0, 0, log.strip() or "compilation failed", "")
            failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
            return _Outcome(tuple(diagnostics if failed else [*diagnostics, nothing_said]))
        call((status,))
        ptx = _renamed(text_of(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), request.filename)
        lowered = {
            name: call(nvrtc.nvrtcGetLoweredName(program, name.encode())).decode()
            for name in (*request.names, *types.values())
        }
    found = {name.rpartition("::")[2]: lowered[expression] for name, expression in types.items()}
    names = {name: lowered[name] for name in request.names}
    return _Outcome(tuple(diagnostics), _TYPES_VARIABLE.sub("", ptx) if types else ptx, names, found)


def _nvrtc_options(request: _Request) -> list[str]:
    """Our options, then the request's: folders, C++17 and line information unless the request has its own."""
    given = {option.partition("=")[0] for option in request.options}
    options = [f"--gpu-architecture={_virtual_arch(request.arch)}"]
    options += [f"--include-path={folder}" for folder in (*request.include_paths, *find_headers().roots)]
    if "--std" not in given:
        options.append("--std=c++17")
    if "--fmax-errors" not in given and call(load().nvrtcVersion()) >= _COUNTS_ERRORS:
        options.append("--fmax-errors=10000")  # all host code in one go, not a hundred functions at a time
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
    return [with_way_out(d, headers.missing) for d in explained if d.severity == "error" or not headers.hold(d.file)]


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
