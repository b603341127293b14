"""CUDA C++ to PTX through NVRTC or clang, with headers from wheels and a cache on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gridstride.compiler.cache import shared as shared_cache
from gridstride.compiler.cuda.compile_request import CompileRequest, checked_line, checked_source
from gridstride.compiler.cuda.compiled import Compiled
from gridstride.compiler.cuda.cuda_compilers import CudaCompiler, cuda_compiler
from gridstride.compiler.cuda.ptx_cache import cache_key, decoded, encoded
from gridstride.compiler.diagnostics import CompileError
from gridstride.compiler.host_code import without_host_noise
from gridstride.compiler.includes import check_includes
from gridstride.compiler.lexer import Text
from gridstride.compiler.names import kernel_names
from gridstride.compiler.options import check_options


def compile_cuda(
    source: str,
    *,
    names: Sequence[str] = (),
    arch: str = "sm_90a",
    options: Sequence[str] = (),
    filename: str = "kernel.cu",
    include_paths: Sequence[str | Path] = (),
    compiler: str | CudaCompiler | None = None,
) -> Compiled:
    """Compile CUDA C++ to PTX, with line information and, unless an option says otherwise, as C++17.

    `names` are name expressions of template instances ("tile<float, 16>") and need not list plain kernels. Headers of
    CUDA, CUB, libcu++ and C are found without being told; others only in `include_paths`. `compiler` is "nvrtc" or
    "clang"; without it the one that GRIDSTRIDE_COMPILER names, else NVRTC. `options` are NVRTC's with either.

    Raises CompileError for the source and the names, ValueError for an architecture, option, file name or compiler
    that cannot be, NoCompiler (a RuntimeError) where the compiler itself is missing.
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
    chosen = compiler if isinstance(compiler, CudaCompiler) else cuda_compiler(compiler)
    cache = shared_cache("ptx")
    key = cache_key(request, chosen.identity())
    compiled = decoded(cache.get(key), request) if key else None
    if compiled is None:
        check_includes(Text(source), filename=filename, include_paths=folders)
        compiled = _compile(request, chosen)
        if key:
            cache.put(key, encoded(compiled))
    return compiled


def _compile(request: CompileRequest, compiler: CudaCompiler) -> Compiled:
    outcome = compiler.compile(request)
    if outcome.ptx is None:
        raise CompileError(without_host_noise(outcome.diagnostics))
    names = kernel_names(outcome.ptx) | dict(outcome.names)
    source = (request.source, request.filename, request.arch)
    return Compiled(outcome.ptx, names, *source, outcome.diagnostics, outcome.types)
