"""CUDA C++ to PTX with clang: host code in the source is read with the device code and left out of the PTX."""

from __future__ import annotations

from gridstride.compiler.clang.clang_program import find_clang
from gridstride.compiler.clang.clang_run import Run, run_clang, run_program
from gridstride.compiler.clang.cluster_dims import NAME
from gridstride.compiler.clang.cuda_folder import BARE, REPLACEMENTS, cuda_folder, libdevice_identity
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.compiled import CompilerOutcome
from gridstride.compiler.headers import fingerprint
from gridstride.compiler.host_headers import host_header_stubs
from gridstride.compiler.includes import dependencies
from gridstride.compiler.lexer import Text
from gridstride.compiler.signature import kernels_of_unsure_types


def clang_identity() -> str:
    """Which clang, which libdevice, which headers of ours; NoCompiler where there is no clang that can be used."""
    return f"clang {find_clang().identity} {libdevice_identity()} {fingerprint(REPLACEMENTS)} {fingerprint(BARE)}"


def compile_with_clang(request: CompileRequest, run: Run = run_program) -> CompilerOutcome:
    """PTX of the source, or what clang says against it; `run` starts clang."""
    clang, cuda = find_clang(), cuda_folder()
    files = dependencies(Text(request.source), request.include_paths) if request.include_paths else {}
    stubs = host_header_stubs(request.source, request.include_paths, files or {})
    types = kernels_of_unsure_types(request.source)
    clusters = any(NAME in text for text in (request.source, *(str(content) for content in (files or {}).values())))
    outcome = run_clang(clang, cuda, request, stubs, types, clusters=clusters, run=run)
    if outcome.ptx is None and types:  # a kernel that an #if leaves out, an overloaded one
        outcome = run_clang(clang, cuda, request, stubs, clusters=clusters, run=run)
    return outcome
