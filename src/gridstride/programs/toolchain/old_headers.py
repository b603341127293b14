"""Headers for programs of CUDA 11: the wheel's, and behind them what later releases dropped.

They go by NVIDIA's names in a folder that the compilers look in first. `cudaDeviceProp` is generated from the wheel's:
its fields, and behind them those of old, which a function of the header fills by attributes.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import cache_root
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.toolchain.wheels import Toolchain

OLD = Path(__file__).parent.parent / "cuda11"
"""What was dropped, by kind."""

_FIELDS = {
    "clockRate": "ClockRate",
    "deviceOverlap": "GpuOverlap",
    "kernelExecTimeoutEnabled": "KernelExecTimeout",
    "computeMode": "ComputeMode",
    "maxTexture1DLinear": "MaxTexture1DLinearWidth",
    "memoryClockRate": "MemoryClockRate",
    "singleToDoublePrecisionPerfRatio": "SingleToDoublePrecisionPerfRatio",
    "cooperativeMultiDeviceLaunch": None,  # launches of one grid on several GPUs: no GPU has them any more
}
"""Of `cudaDeviceProp`, and the attribute (cudaDevAttr…) that has the value."""

_CALLS = """cudaThreadSynchronize cudaThreadExit cudaThreadSetLimit cudaThreadGetLimit cudaThreadSetCacheConfig
    cudaThreadGetCacheConfig cudaBindTexture cudaBindTexture2D cudaBindTextureToArray cudaBindTextureToMipmappedArray
    cudaUnbindTexture cudaGetTextureReference cudaGetTextureAlignmentOffset cudaBindSurfaceToArray
    cudaGetSurfaceReference __shfl __shfl_up __shfl_down __shfl_xor"""
_HEADERS = ("cuda_surface_types.h", "cuda_texture_types.h", "surface_functions.h", "texture_fetch_functions.h")
"""Whose contents the runtime's header has here."""
_MISSING_HEADER = rf"""(?:could not open source file|fatal error:) ["']({"|".join(map(re.escape, _HEADERS))})["']"""
_REFUSED = re.compile(
    rf"""identifier "({"|".join(_CALLS.split())})" is undefined"""
    rf"""|undeclared (?:identifier|function) '({"|".join(_CALLS.split())})'"""
    r"|error: (texture|surface) is not a template"
    r"""|incomplete type is not allowed.*\b(textureReference|surfaceReference)\b"""
    rf"""|has no member "({"|".join(_FIELDS)})"|no member named '({"|".join(_FIELDS)})' in"""
    r"""|convert from "int" to "(cudaMemLocation)\""""
    rf"|{_MISSING_HEADER}"
)
"""What compilers say of each; no instance of a class or function that is the program's own is meant by these names."""
_NAMED = {
    "texture": "texture<> references were", "surface": "surface<> references were",
    "cudaMemLocation": "cudaMemPrefetchAsync and cudaMemAdvise with a GPU's number were",
}  # fmt: skip

_STRUCT = re.compile(r"(struct[^;{}]*\bcudaDeviceProp\s*\{[^}]*)(\};)")
_API = """#ifndef GS_CUDA11_RUNTIME_API_H
#define GS_CUDA11_RUNTIME_API_H
#include "driver_types.h"
#include_next <cuda_runtime_api.h>
static __inline__ __host__ cudaError_t gs_cuda11_properties(struct cudaDeviceProp *properties, int device) {
    cudaError_t error = cudaGetDeviceProperties(properties, device);
%s    return error;
}
#define cudaGetDeviceProperties gs_cuda11_properties
#include "old_runtime.h"
#endif
"""
_FORMER = """#include "cuda_runtime.h"
"""
_BUILTIN = """#include "driver_types.h"
#include_next <builtin_types.h>
"""
"""For the last step of a compilation, which reads NVIDIA's types once more."""
_RUNTIME = """#ifndef GS_CUDA11_RUNTIME_H
#define GS_CUDA11_RUNTIME_H
#include "cuda_runtime_api.h"
#include_next <cuda_runtime.h>
#ifdef __CUDACC__
#include "old_warp.h"
#include "old_textures.h"
#include "old_surfaces.h"
#endif
#endif
"""


def old_headers(tools: Toolchain) -> Path:
    """The folder that they lie in, in the cache; ProgramError where the wheel's are not as they were."""
    files = {path.name: path.read_text() for path in sorted(OLD.glob("*.h"))}
    files |= {
        "driver_types.h": driver_types((tools.cuda / "include" / "driver_types.h").read_text(errors="replace")),
        "builtin_types.h": _BUILTIN,
        "cuda_runtime_api.h": _API % "".join(map(_filled, _FIELDS)),
        "cuda_runtime.h": _RUNTIME,
    } | dict.fromkeys(_HEADERS, _FORMER)
    folder = cache_root() / "cuda11" / sha256("\0".join(files.values()).encode()).hexdigest()[:16]
    for name, text in files.items():
        if not (folder / name).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.new").write_text(text)
            (folder / f"{name}.new").replace(folder / name)
    return folder


def driver_types(text: str) -> str:
    """The wheel's driver_types.h with the fields of old in `cudaDeviceProp`."""
    fields = "".join(f"    int {name};\n" for name in _FIELDS)
    rewritten, count = _STRUCT.subn(lambda match: f"{match[1]}{fields}{match[2]}", text, count=1)
    if not count:
        raise ProgramError("--cuda11: the installed driver_types.h has no cudaDeviceProp that could get fields of old")
    return rewritten


def _filled(field: str) -> str:
    attribute = _FIELDS[field]
    if attribute is None:
        return f"    properties->{field} = 0;\n"
    return f"    cudaDeviceGetAttribute(&properties->{field}, cudaDevAttr{attribute}, device);\n"


def asks_for_old(message: str) -> str | None:
    """Where compilers refuse what CUDA 11 had: one sentence that names the option."""
    if (match := _REFUSED.search(message)) is None:
        return None
    name = next(group for group in match.groups() if group)
    return f"{_NAMED.get(name, f'{name} was')} dropped after CUDA 11, and --cuda11 brings such things back"
