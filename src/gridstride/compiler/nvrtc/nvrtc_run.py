"""One run of NVRTC: its options, its messages and its PTX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gridstride.compiler.bindings import call, load, open_program, supported_archs, text_of
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome
from gridstride.compiler.diagnostics import Diagnostic, parse_log
from gridstride.compiler.headers import find_headers
from gridstride.compiler.names import explain_names
from gridstride.compiler.signature import kernels_of_unsure_types
from gridstride.compiler.ways_out import with_way_out

_ARCH = re.compile(r"(?:sm|compute)_(?P<number>\d{2,3})(?P<variant>[af]?)")
_PRELUDE = "#include <gridstride/nvcc.h>\n"
_TYPES_OF = "gridstride_types_of"  # a variable template over a kernel's type, whose lowered name spells that type
_TYPES_VARIABLE = re.compile(rf"^.*\.global .*\b_Z\d+{_TYPES_OF}\w+;\n", re.MULTILINE)
_REDECLARED = re.compile(r'invalid redeclaration of type name "(u?int|u|ss|ush|ul|uint)')
_COUNTS_ERRORS = (13, 5)  # NVRTC that has --fmax-errors (13.0 refuses it); elsewhere host code goes in more rounds
_FIRST = {"": 0, "a": 90, "f": 100}  # the first architecture with each variant


def run_nvrtc(
    request: CompileRequest, source: str, headers: Mapping[str, str], prelude: str = _PRELUDE
) -> CompilerOutcome:
    """Compile once more where what was added to the source does not go with it."""
    types = {name: f"&{_TYPES_OF}<decltype({name})>" for name in kernels_of_unsure_types(source)}
    outcome = _run_once(request, source, headers, prelude, types)
    if outcome.ptx is None and types:  # a kernel that an #if leaves out, an overloaded one
        outcome = _run_once(request, source, headers, prelude, {})
    if outcome.ptx is None and prelude and any(_REDECLARED.search(message.message) for message in outcome.diagnostics):
        return run_nvrtc(request, source, headers, prelude="")  # the source has a uint of its own, say
    return outcome


def _run_once(
    request: CompileRequest, source: str, headers: Mapping[str, str], prelude: str, types: Mapping[str, str]
) -> CompilerOutcome:
    nvrtc = load()
    options = [option.encode() for option in _nvrtc_options(request)]
    prelude += f"template <class> __device__ char {_TYPES_OF};\n" if types else ""
    text = f"{prelude}{line_directive(request.filename)}{source}"
    with open_program(nvrtc, text, headers) as program:
        for name in (*request.names, *types.values()):
            call(nvrtc.nvrtcAddNameExpression(program, name.encode()))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise ValueError(f"{log.strip()} (architecture {request.arch!r}, options {list(request.options)})")
        diagnostics = _parsed_diagnostics(request, log)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            unknown = Diagnostic("error", request.filename, 0, 0, log.strip() or "compilation failed", "")
            failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
            return CompilerOutcome(tuple(diagnostics if failed else [*diagnostics, unknown]))
        call((status,))
        ptx = _with_given_name(text_of(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), request.filename)
        lowered = {
            name: call(nvrtc.nvrtcGetLoweredName(program, name.encode())).decode()
            for name in (*request.names, *types.values())
        }
    types_of_kernels = {name.rpartition("::")[2]: lowered[expression] for name, expression in types.items()}
    names = {name: lowered[name] for name in request.names}
    return CompilerOutcome(tuple(diagnostics), _TYPES_VARIABLE.sub("", ptx) if types else ptx, names, types_of_kernels)


def _nvrtc_options(request: CompileRequest) -> list[str]:
    """Our options, then the request's: folders, C++17 and line information unless the request has its own."""
    chosen = {option.partition("=")[0] for option in request.options}
    options = [f"--gpu-architecture={_virtual_arch(request.arch)}"]
    options += [f"--include-path={folder}" for folder in (*request.include_paths, *find_headers().roots)]
    if "--std" not in chosen:
        options.append("--std=c++17")
    if "--fmax-errors" not in chosen and call(load().nvrtcVersion()) >= _COUNTS_ERRORS:
        options.append("--fmax-errors=10000")  # all host code in one go, not a hundred functions at a time
    if "--device-debug" not in chosen:
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


def _parsed_diagnostics(request: CompileRequest, log: str) -> list[Diagnostic]:
    """Errors, and the warnings about the user's own code."""
    headers = find_headers()
    parsed = parse_log(log, filename=request.filename, source=request.source)
    explained = explain_names(parsed, filename=request.filename, source=request.source)
    return [with_way_out(d, headers.missing) for d in explained if d.severity == "error" or not headers.hold(d.file)]


def line_directive(filename: str) -> str:
    """The line that gives what follows a file's name, from its line 1 on."""
    return '#line 1 "{}"\n'.format(filename.replace("\\", r"\\").replace('"', r"\""))


def _with_given_name(ptx: str, filename: str) -> str:
    """NVRTC puts the working folder before a relative name in .file; a cached PTX must not depend on it."""
    try:
        absolute = str(Path.cwd() / filename)
    except OSError:  # the working folder was deleted
        return ptx
    return ptx.replace(f'"{_escaped(absolute)}"', f'"{_escaped(filename)}"', 1)


def _escaped(text: str) -> str:
    """A string as PTX has it: quotes and backslashes behind a backslash, bytes past ASCII in octal."""
    escapes = {ord('"'): r"\"", ord("\\"): r"\\"}
    return "".join(escapes.get(byte) or (chr(byte) if byte < 128 else f"\\{byte:03o}") for byte in text.encode())
