"""CUDA C++ to PTX with NVRTC, whole files with host code in them among it."""

from __future__ import annotations

from gridstride.compiler.bindings import call, load
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome
from gridstride.compiler.headers import distribution_version, find_headers
from gridstride.compiler.host_code import is_about_host_code
from gridstride.compiler.host_headers import host_header_stubs
from gridstride.compiler.includes import dependencies
from gridstride.compiler.lexer import Text
from gridstride.compiler.nvrtc.device_part import compile_device_part
from gridstride.compiler.nvrtc.nvrtc_run import run_nvrtc


def nvrtc_identity() -> str:
    """The version of NVRTC, read off its wheel where there is one: to load it takes longer than a hit of the cache."""
    return distribution_version("nvidia-cuda-nvrtc") or str(call(load().nvrtcVersion()))


def compile_with_nvrtc(request: CompileRequest) -> CompilerOutcome:
    """PTX of the source, or of its device part where NVRTC does not take the rest."""
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    stubs = host_header_stubs(request.source, request.include_paths, files or {})
    outcome = run_nvrtc(request, request.source, stubs)
    library = find_headers()
    if any(is_about_host_code(error) or library.hold(error.file) for error in outcome.errors):
        return compile_device_part(request, outcome, files or {})
    return outcome
