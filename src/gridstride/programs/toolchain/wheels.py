"""Compilers from wheels: nvcc with zig's clang as its host compiler. Nothing of the system's is used."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import cache_root
from gridstride.programs.program_errors import MissingToolchain, ProgramError

INSTALL = "pip install 'gridstride[programs]'"
INCLUDE = Path(__file__).parent.parent / "include"
"""Our own headers: over those of zig's C library, and omp.h."""
LIBRARIES = Path(__file__).parent.parent / "libraries"
LIBRARY_HEADERS = LIBRARIES / "include"
"""Of the libraries that are ours; a folder of the user's, named by -I, comes before it."""

_GLIBC = "2.28"
"""What programs are linked for; every Linux that Python's manylinux_2_28 wheels run on has it."""
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_WHEELS = {
    "bin/nvcc": "nvidia-cuda-nvcc",
    "nvvm/bin/cicc": "nvidia-nvvm",
    "include/cuda_runtime.h": "nvidia-cuda-runtime",
    "include/crt/host_config.h": "nvidia-cuda-crt",
    "include/cccl/cuda/std/version": "nvidia-cuda-cccl",
    "include/cuda_profiler_api.h": "nvidia-cuda-profiler-api",
}
"""What must be there, and the wheel that brings it."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the compilers are. `cuda` is the folder that is called CUDA_HOME elsewhere."""

    zig: Path
    cuda: Path
    host_compiler: Path
    identity: str
    """Changes when the compilers or our headers do."""

    @property
    def nvcc(self) -> Path:
        return self.cuda / "bin" / "nvcc"

    @property
    def vendor_runtime(self) -> Path | None:
        """NVIDIA's own libcudart."""
        return next(iter(sorted((self.cuda / "lib").glob("libcudart.so.*"))), None)

    @property
    def vendor_nvrtc(self) -> Path | None:
        """NVIDIA's own NVRTC, which compiles without a GPU too."""
        return next(iter(sorted((self.cuda / "lib").glob("libnvrtc.so.*"))), None)

    @property
    def vendor_jit_link(self) -> Path | None:
        """NVIDIA's own nvJitLink, where its wheel is installed."""
        return next(iter(sorted((self.cuda / "lib").glob("libnvJitLink.so.*"))), None)

    def is_part(self, path: Path) -> bool:
        """True for a header of the toolchain's, which changes only together with `identity`."""
        return any(path.is_relative_to(root) for root in (self.cuda, self.zig.parent, INCLUDE, LIBRARY_HEADERS))


@functools.cache
def toolchain() -> Toolchain:
    """The compilers; MissingToolchain names the wheels that are not there, ProgramError a cache that cannot be used."""
    if platform.system() != "Linux":
        raise MissingToolchain(f"whole programs are compiled and run on Linux, this is {platform.system()}")
    zig, cuda = _zig(), _cuda()
    missing = [] if zig is not None else ["ziglang"]
    missing += [wheel for file, wheel in _WHEELS.items() if cuda is None or not (cuda / file).is_file()]
    if missing or zig is None or cuda is None:
        raise MissingToolchain(
            f"whole programs are compiled with {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            f"installed: {INSTALL} (about 225 MB to load; no CUDA toolkit, no system compiler and no GPU is needed)"
        )
    stamps = [f"{path}:{path.stat().st_mtime_ns}" for path in (zig, cuda / "bin" / "nvcc", cuda / "nvvm/bin/cicc")]
    headers = (path for folder in (INCLUDE, LIBRARY_HEADERS) for path in sorted(folder.rglob("*")) if path.is_file())
    ours = [path.read_text() for path in headers]
    identity = sha256("\0".join([*stamps, *ours]).encode()).hexdigest()
    try:
        return Toolchain(zig, cuda, _host_compiler(zig), identity)
    except OSError as error:
        raise ProgramError(
            f"the cache {cache_root()} cannot be written ({error.strerror}), and the compilers need one: "
            "GRIDSTRIDE_CACHE names another folder"
        ) from None


def wheel_of(header: str) -> str | None:
    """The wheel that brings a header of NVIDIA's, where it is known."""
    return _LIBRARY_HEADERS.get(header)


_LIBRARY_HEADERS = {
    "cublas.h": "nvidia-cublas", "cublasLt.h": "nvidia-cublas",
    "curand_kernel.h": "nvidia-curand", "cusolverDn.h": "nvidia-cusolver",
    "npp.h": "nvidia-npp", "nvjpeg.h": "nvidia-nvjpeg", "cudnn.h": "nvidia-cudnn-cu13", "nccl.h": "nvidia-nccl-cu13",
    "nvtx3/nvToolsExt.h": "nvidia-nvtx", "nvToolsExt.h": "nvidia-nvtx",
}  # fmt: skip


def environment() -> dict[str, str]:
    """Of the compilers."""
    return os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(zig_cache()), "LC_ALL": "C"}


def zig_cache() -> Path:
    """Where zig keeps the C and C++ libraries that it builds once: beside our cache, or where its own variable says."""
    return Path(os.environ.get("ZIG_GLOBAL_CACHE_DIR") or cache_root() / "zig")


def _zig() -> Path | None:
    return next((p for p in (f / "zig" for f in _folders("ziglang")) if p.is_file()), None)


def _cuda() -> Path | None:
    roots = [folder / "cu13" for folder in _folders("nvidia")]
    return next((root for root in roots if (root / "bin" / "nvcc").is_file()), roots[0] if roots else None)


def _folders(package: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder)


def host_flags() -> tuple[str, ...]:
    """Of zig's clang. Its own defaults are -O0 with UBSan; the overlay must come before its own headers, hence -I."""
    machine = _MACHINES.get(platform.machine().lower())
    if machine is None:
        raise MissingToolchain(
            f"there are no compilers in wheels for {platform.machine()}: x86-64 or AArch64 is needed"
        )
    return ("-target", f"{machine}-linux-gnu.{_GLIBC}", *_AS_GCC, "-I", str(INCLUDE))


_AS_GCC = (
    *("-UNDEBUG", "-fno-sanitize=undefined"),  # zig's -O2 would drop assert(), in kernels too
    *("-fwrapv", "-fno-strict-aliasing", "-fno-finite-loops"),
)
"""Programs are written for what nvcc calls elsewhere, gcc without optimisation: there signed numbers wrap around, as
`i * i` of NVIDIA's own simpleOccupancy does, and a loop that waits is not taken for one that ends."""


def _host_compiler(zig: Path) -> Path:
    words = shlex.join([str(zig), "c++", *host_flags()])
    # nvcc's preprocessor run says what the pragmas are about; OpenMP's are ignored: omp.h is of one thread.
    return host_compiler_script(f'#!/bin/sh\nexec {words} -Wno-unknown-pragmas -Wno-source-uses-openmp "$@"\n')


def host_compiler_script(text: str) -> Path:
    """A script in the cache that nvcc takes for a compiler, as it is called clang++; OSError."""
    folder = cache_root() / "host-compiler" / sha256(text.encode()).hexdigest()[:16]
    script = folder / "clang++"
    if not script.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o755)
        with contextlib.suppress(FileExistsError):
            os.replace(temporary, script)
    return script
