"""CUDA C++ to PTX through NVRTC, with headers from wheels and a cache on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.diagnostics import CompileError
from gridstride.compiler.headers import find_headers
from gridstride.compiler.host_code import is_about_host_code, without_host_noise
from gridstride.compiler.includes import check_includes, dependencies
from gridstride.compiler.lexer import Text
from gridstride.compiler.names import kernel_names
from gridstride.compiler.nvrtc.compile_request import CompileRequest, checked_line, checked_source
from gridstride.compiler.nvrtc.compiled import Compiled
from gridstride.compiler.nvrtc.device_part import compile_device_part, host_header_stubs
from gridstride.compiler.nvrtc.nvrtc_run import run_nvrtc
from gridstride.compiler.nvrtc.ptx_cache import cache_key, decoded, encoded
from gridstride.compiler.options import check_options


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
    request = CompileRequest(
        checked_source(source, filename),
        tuple(dict.fromkeys(checked_line("name expression", name) for name in names)),
        checked_line("architecture", arch),
        check_options(options),
        checked_line("file name", filename),
        folders,
    )
    cache = shared_cache("ptx")
    key = cache_key(request)
    compiled = decoded(cache.get(key), request) if key else None
    if compiled is None:
        check_includes(Text(source), filename=filename, include_paths=folders)
        compiled = _compile(request)
        if key:
            cache.put(key, encoded(compiled))
    return compiled


def _compile(request: CompileRequest) -> Compiled:
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    outcome = run_nvrtc(request, request.source, host_header_stubs(request, files or {}))
    library = find_headers()
    if any(is_about_host_code(error) or library.hold(error.file) for error in outcome.errors):
        outcome = compile_device_part(request, outcome, files or {})
    if outcome.ptx is None:
        raise CompileError(without_host_noise(outcome.diagnostics))
    names = kernel_names(outcome.ptx) | dict(outcome.names)
    source = (request.source, request.filename, request.arch)
    return Compiled(outcome.ptx, names, *source, outcome.diagnostics, outcome.types)
