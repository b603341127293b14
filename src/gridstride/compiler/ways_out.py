"""What to do about errors of which NVRTC says only that they are: the header that declares a name, other words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace

from gridstride.compiler.diagnostics import Diagnostic

COMPILE_RELOCATABLE = 'kernels that launch kernels are relocatable code: options=("-rdc=true",)'
_MESSAGES = {
    "device-side kernel launch could not be processed": COMPILE_RELOCATABLE,
    "annotation on lambda is not allowed in JIT mode":
        "leave __device__ and __host__ out: a lambda within a kernel is device code",
    'identifier "cudaDeviceSynchronize" is undefined':
        "a kernel cannot wait for the kernels it launches since CUDA 12: launch what needs their results into "
        "cudaStreamTailLaunch, or from the host",
}  # fmt: skip

_HEADERS = (
    (r"half2?|__half2?|__half\w*2?float\w*|__float2half\w*|__h(add|mul|fma|sub|div|max|min|lt|gt)2?\w*|h(exp|sqrt|log)",
     "cuda_fp16.h"),
    (r"__?nv_bfloat162?|nv_bfloat162?|__float2bfloat16\w*|__bfloat162float|__bfloat16\w*", "cuda_bf16.h"),
    (r"__nv_fp8\w*", "cuda_fp8.h"),
    (r"(FLT|DBL|LDBL)_(MAX|MIN|EPSILON|DIG)", "cfloat"),
    (r"CUDART_\w+", "math_constants.h"),
    (r"cu(Float|Double)?Complex|make_cu\w*Complex|cuC\w+", "cuComplex.h"),
    (r"cooperative_groups|cg", "cooperative_groups.h"),
    (r"nvcuda|wmma", "mma.h"),
    (r"cub", "cub/cub.cuh"),
    (r"curand\w*", "curand_kernel.h"),
    (r"__pipeline_\w+", "cuda_pipeline.h"),
    (r"thrust", "thrust/tuple.h"),
)  # fmt: skip
_STD_HEADERS = {
    **dict.fromkeys(("min", "max", "clamp", "swap"), "algorithm"), "numeric_limits": "limits", "array": "array",
    "tuple": "tuple", "pair": "utility", "move": "utility", "forward": "utility", "complex": "complex",
    **dict.fromkeys(("is_same", "is_same_v", "enable_if_t", "conditional_t", "is_floating_point"), "type_traits"),
    "optional": "optional", "bit_cast": "bit", "integral_constant": "type_traits", "plus": "functional",
}  # fmt: skip
_HOST_ONLY = {
    "vector": "pass a pointer and a size, or use std::array of a fixed size",
    "string": "use an array of char", "cout": "printf works in kernels", "cerr": "printf works in kernels",
    "endl": "printf works in kernels", "function": "make the function a template parameter",
    **dict.fromkeys(("map", "unordered_map", "set", "list", "deque", "unordered_set"), "use arrays"),
    **dict.fromkeys(("mutex", "thread"), "use atomics, __syncthreads() and cuda::barrier"),
    **dict.fromkeys(("unique_ptr", "shared_ptr", "make_unique", "make_shared"), "pass a pointer"),
}  # fmt: skip
_STD_SORTS = frozenset({"sort", "stable_sort", "reduce", "accumulate", "inclusive_scan", "transform", "for_each"})
_NAMES = (
    "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __threadfence __shared__ __constant__ "
    "__device__ __restrict__ __forceinline__ __launch_bounds__ atomicAdd atomicSub atomicMax atomicMin atomicExch "
    "atomicCAS atomicAnd atomicOr __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync "
    "__all_sync __activemask __ldg __popc __clz __ffs __fdividef __expf __logf __sinf __cosf sqrtf rsqrtf expf logf "
    "powf fmaxf fminf fabsf tanhf erff"
).split()  # those that beginners misspell
_OLD_SHUFFLES = re.compile(r"__(shfl|shfl_up|shfl_down|shfl_xor|any|all|ballot)")
_UNDEFINED = re.compile(
    r"""(?:identifier "|use of undeclared identifier '|unknown type name ')(?P<name>\w+)["']"""
    r'|name followed by "::" must be a class or namespace name'
)
_NO_MEMBER = re.compile(r'namespace "(?:cuda::)?std" has no member(?: class)? "(?P<name>\w+)"')
_THRUST = re.compile(r'namespace "thrust(?:::\w+)*" has no member(?: class)? "(?P<name>\w+)"')
_MISSING = re.compile(r"""(?:cannot open source file "|^')(?P<name>[^"']+)(?:"|' file not found)""")
_PACKAGES = {
    r"curand\w*\.h": "it is part of cuRAND: pip install nvidia-curand",
    r"(cute|cutlass)/.*": 'CUTLASS is headers alone: clone it and give its folder, include_paths=("cutlass/include",)',
    r"helper_math\.h": 'the CUDA samples have it: give the folder, include_paths=("cuda-samples/Common",)',
}  # fmt: skip


def with_way_out(diagnostic: Diagnostic, missing: Sequence[str]) -> Diagnostic:
    """The diagnostic with a note that says what to write instead; `missing` are distributions of CUDA's headers."""
    note = _note(diagnostic, missing)
    return replace(diagnostic, notes=(*diagnostic.notes, note)) if note else diagnostic


def _note(diagnostic: Diagnostic, missing: Sequence[str]) -> str:
    message = diagnostic.message
    matching = next((note for words, note in _MESSAGES.items() if words in message), "")
    if matching:
        return matching
    if message == "unrecognized token" and not diagnostic.source_line.isascii():
        strange = next(c for c in diagnostic.source_line if not c.isascii())
        return f"{strange!r} is no part of a name: CUDA C++ takes ASCII letters, digits and _ in names"
    if absent := _MISSING.search(message):
        return _about_a_header(absent["name"], missing)
    if member := _NO_MEMBER.search(message):
        return _about_std(member["name"])
    if algorithm := _THRUST.search(message):
        return _about_thrust(algorithm["name"])
    if undefined := _UNDEFINED.search(message):
        return _about_a_name(undefined["name"] or _scope(diagnostic))
    return ""


def _about_a_header(name: str, missing: Sequence[str]) -> str:
    if missing:
        return f"CUDA's own headers are missing: pip install {' '.join(missing)}"
    matching = next((note for pattern, note in _PACKAGES.items() if re.fullmatch(pattern, name)), "")
    searched = (
        "searched: include_paths, then the headers of C, C++ (as far as device code has them), CUDA, CUB and libcu++"
    )
    return matching or searched


def _about_std(name: str) -> str:
    if name in _HOST_ONLY:
        return f"std::{name} is host code, which kernels do not have: {_HOST_ONLY[name]}"
    if name in _STD_SORTS:
        return f"kernels have no std::{name}: a loop does it for one thread, CUB (cub/cub.cuh) for a block"
    return f"#include <{_STD_HEADERS[name]}>" if name in _STD_HEADERS else ""


def _about_thrust(name: str) -> str:
    return (
        f"thrust::{name} is host code here: kernels have Thrust's tuples, pairs, complex and random numbers, functors "
        "and iterators, each in its own header; sort, reduce and scan in a kernel with CUB (cub/cub.cuh) or a loop"
    )


def _about_a_name(name: str) -> str:
    if old := _OLD_SHUFFLES.fullmatch(name):
        return f"since Volta it names the lanes that take part: __{old[1]}_sync(0xffffffff, …)"
    header = next((header for pattern, header in _HEADERS if re.fullmatch(pattern, name)), "")
    if header:
        return f"#include <{header}>"
    near = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else ""


def _scope(diagnostic: Diagnostic) -> str:
    """The word before the :: that the message is about."""
    match = re.match(r"\w+", diagnostic.source_line[max(diagnostic.column - 1, 0) :])
    return match[0] if match else ""
