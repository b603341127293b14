"""Headers that stand in files because their host part includes them: they give device code the types it has of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gridstride.compiler.includes import Include, find_includes
from gridstride.compiler.lexer import Text

_CPP = """any barrier cctype charconv clocale codecvt condition_variable coroutine csetjmp csignal cstdarg
    cuchar cwchar cwctype execution filesystem format forward_list future generator ios latch locale memory_resource
    new print queue ranges regex scoped_allocator semaphore shared_mutex source_location stack stacktrace stop_token
    streambuf strstream syncstream system_error typeindex typeinfo unordered_set valarray"""
_C = """arpa/inet.h ctype.h dirent.h dlfcn.h execinfo.h fcntl.h fenv.h getopt.h libgen.h locale.h malloc.h netdb.h
    netinet/in.h poll.h pthread.h pwd.h sched.h semaphore.h setjmp.h signal.h stdarg.h sys/ioctl.h sys/mman.h
    sys/resource.h sys/socket.h sys/stat.h sys/sysinfo.h sys/timeb.h sys/times.h sys/types.h sys/wait.h syslog.h
    termios.h tgmath.h wchar.h windows.h io.h direct.h process.h
    sys/utsname.h sys/un.h sys/select.h sys/syscall.h sys/param.h conio.h error.h glob.h intrin.h immintrin.h
    x86intrin.h emmintrin.h xmmintrin.h"""
_CUDA = """cublas.h cublas_v2.h cublasLt.h cublas_api.h cublasXt.h cudnn.h cudnn_frontend.h cufft.h cufftXt.h cufftw.h
    curand.h cusparse.h cusparse_v2.h cusolverDn.h cusolverSp.h cusolverRf.h cusolver_common.h cutensor.h nccl.h
    nvml.h npp.h nppi.h nvjpeg.h nvrtc.h cupti.h cufile.h cudaProfiler.h nvToolsExt.h nvToolsExtCuda.h
    nvToolsExtCudaRt.h cuda_occupancy.h cuda_gl_interop.h helper_cuda.h helper_functions.h helper_timer.h
    helper_string.h helper_image.h helper_multiprocess.h helper_cuda_drvapi.h helper_nvJPEG.hxx nvrtc_helper.h
    exception.h"""
_OTHER = """mpi.h omp.h openacc.h zlib.h png.h jpeglib.h stb_image.h stb_image_write.h gtest/gtest.h
    benchmark/benchmark.h GL/gl.h GL/glew.h GL/glut.h GL/freeglut.h GLFW/glfw3.h Python.h"""
_HALVES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
_COMPLEX = "#include <cuComplex.h>\n"
_CUFFT = f"""{_COMPLEX}typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
"""
_GIVES = (
    (re.compile(r"cufft(Xt|w)?\.h"), _CUFFT),
    (re.compile(r"(cublas_v2|cublas_api|cublasLt|cublasXt|cusolver(Dn|Sp|Rf|_common))\.h"), _COMPLEX + _HALVES),
    (re.compile(r"cublas\.h|cusparse(_v2)?\.h"), _COMPLEX),
    (re.compile(r"nccl\.h|(torch|ATen|c10)/.*"), _HALVES),
)
"""Types that kernels have from such a header: those that it defines, and the CUDA headers that it includes itself."""
_NAMES = frozenset(" ".join((_CPP, _C, _CUDA, _OTHER)).split())
_FOLDERS = re.compile(
    r"(GL|GLES\d?|EGL|GLUT|OpenGL|X11|vulkan|torch|ATen|c10|pybind11|opencv2?|boost|nvtx3|glm|Eigen|fmt|spdlog|CLI"
    r"|nlohmann)/"
)

# Parts of Thrust that only host code calls, containers and algorithms: NVRTC takes none of them. Its functors, tuples,
# pairs, iterators and random numbers compile as they are.
_THRUST = re.compile(
    r"thrust/(?!(addressof|advance|distance|functional|pair|tuple|version|zip_function|random|complex)\.h$)"
    r"(?!(iterator|random|type_traits|detail)/)[\w/]+\.h"
)
_CUB_DEVICE = re.compile(r"cub/(device/\w+|util_allocator)\.cuh")


def host_header_stubs(source: str, include_paths: Sequence[Path], files: Mapping[Path, bytes]) -> dict[str, str]:
    """Headers that only host code needs, of those that the source and the user's headers include."""
    texts = [source, *(content.decode(errors="replace") for content in files.values())]
    includes = [include for text in texts for include in find_includes(Text(text))]
    return host_stubs(includes, (*include_paths, *(path.parent for path in files)))


def host_stubs(includes: Iterable[Include], include_paths: Sequence[Path]) -> dict[str, str]:
    """Content for the included headers that only host code needs, but for those that the user has."""
    names = {include.name for include in includes if include.name and _host_only(include.name)}
    return {
        name: _stub(name) for name in sorted(names) if not any((folder / name).is_file() for folder in include_paths)
    }


def _host_only(name: str) -> bool:
    return name in _NAMES or any(pattern.match(name) for pattern in (_FOLDERS, _THRUST, _CUB_DEVICE))


def _stub(name: str) -> str:
    """What kernels have from it, and the namespace, which `using namespace` may name."""
    contents = next((text for pattern, text in _GIVES if pattern.fullmatch(name)), "")
    namespace = next(
        (library for library in ("thrust", "cub", "torch", "boost") if name.startswith(f"{library}/")), "std"
    )
    return f"#pragma once\n{contents}namespace {namespace} {{}}\n"
