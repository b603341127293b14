"""Source to PTX, and nothing else: NVRTC, clang, their headers, their messages as data, a cache on disk."""

from gridstride.compiler.bindings import NoCompiler, supported_archs
from gridstride.compiler.cache import DiskCache
from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.compiler.cuda.compiled import Compiled
from gridstride.compiler.diagnostics import CompileError, CompileWarning, Diagnostic
from gridstride.compiler.signature import KernelSignature, SourceParameter, signatures
from gridstride.compiler.signature_cache import cached_signatures

__all__ = [
    "CompileError",
    "CompileWarning",
    "Compiled",
    "Diagnostic",
    "DiskCache",
    "KernelSignature",
    "NoCompiler",
    "SourceParameter",
    "cached_signatures",
    "compile_cuda",
    "signatures",
    "supported_archs",
]
