"""What `gridstride doctor` looks at, one check after the other."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridstride.commands.target import chosen_because

_OLDEST_PYTHON = (3, 11)
_NEEDED = ("numpy", "llvmlite", "cuda-bindings", "cuda-core", "typer", "rich", "jinja2", "platformdirs")
_OPTIONAL = ("torch", "triton", "numba-cuda")
# The vector instructions that decide how fast the virtual GPU is, widest first.
_VECTORS = ("avx512f", "avx512bw", "avx2", "fma", "f16c", "sve2", "sve", "neon")
_SELF_TEST = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
_THREADS = 64


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `ok` is None where it may be missing; `mend` says how to get it."""

    section: str
    name: str
    value: str
    ok: bool | None = True
    mend: str = ""


def examine() -> Iterator[Check]:
    """Every check, in the order in which they are shown."""
    yield _python()
    yield from _packages()
    yield from _compiler()
    yield _programs()
    yield from _host()
    yield _cache()
    yield _gpu()
    yield _chosen()
    yield _self_test()


def _python() -> Check:
    version = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Check("software", "Python", version, False, "install Python 3.11 or later")
    return Check("software", "Python", f"{version}, {sys.executable}")


def _packages() -> Iterator[Check]:
    for name in (*_NEEDED, *_OPTIONAL):
        needed = name in _NEEDED
        try:
            yield Check("software", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            mend = f"pip install {name}" if needed else f"only for {_purpose(name)}: pip install {name}"
            yield Check("software", name, "not installed", False if needed else None, mend)


def _purpose(name: str) -> str:
    return "the ops, the models and timing against cuBLAS" if name == "torch" else f"kernels written in {name}"


def _compiler() -> Iterator[Check]:
    from gridstride.compiler.bindings import call, load, supported_archs
    from gridstride.compiler.headers import distribution_version, find_headers

    try:
        major, minor = call(load().nvrtcVersion())
        archs = supported_archs()
        yield Check("compiler", "NVRTC", f"{major}.{minor}, compiles for {archs[0]} to {archs[-1]}")
    except RuntimeError as error:
        yield Check("compiler", "NVRTC", str(error), False, "pip install cuda-bindings nvidia-cuda-nvrtc")
    headers = find_headers()
    if headers.missing:
        yield Check("compiler", "CUDA headers", "missing", False, f"pip install {' '.join(headers.missing)}")
    else:
        version = distribution_version("nvidia-cuda-runtime")
        yield Check("compiler", "CUDA headers", f"runtime {version}" if version else "from the CUDA toolkit")
    yield _clang()
    yield _llvm()


def _clang() -> Check:
    """The second compiler: needed where the environment asks for it."""
    from gridstride.compiler import NoCompiler
    from gridstride.compiler.clang.clang_program import OLDEST, find_clang

    try:
        clang = find_clang()
        return Check("compiler", "clang", f"{clang.major}, {clang.path}")
    except NoCompiler as error:
        requested = os.environ.get("GRIDSTRIDE_COMPILER") == "clang"
        way_out = f'only for compiler="clang": clang {OLDEST} or later, with NVPTX'
        return Check(
            "compiler", "clang", str(error) if requested else "none found", False if requested else None, way_out
        )


def _programs() -> Check:
    """What `gridstride run` compiles with."""
    from gridstride.programs.program_errors import MissingToolchain
    from gridstride.programs.toolchain.wheels import INSTALL, toolchain

    try:
        tools = toolchain()
    except MissingToolchain:
        return Check("compiler", "whole programs", "not installed", None, f"{INSTALL}, for gridstride run PROG.cu")
    return Check("compiler", "whole programs", f"nvcc in {tools.cuda}, zig in {tools.zig.parent}")


def _llvm() -> Check:
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        return Check("compiler", "LLVM", str(error), False, "pip install --force-reinstall llvmlite")
    return Check("compiler", "LLVM", ".".join(map(str, binding.llvm_version_info)))


def _host() -> Iterator[Check]:
    from gridstride.virtual.machine.memory.arena import host_memory
    from gridstride.virtual.machine.workers import cores

    name, vectors = _processor()
    machine = platform.machine()
    supported = machine.lower() in ("x86_64", "amd64", "aarch64", "arm64")
    mend = "" if supported else "the virtual GPU runs on x86-64 and AArch64"
    yield Check(
        "host", "processor", f"{name} ({machine}; {', '.join(vectors) or 'no vector unit known'})", supported, mend
    )
    yield Check("host", "cores", f"{cores()} for this process")
    yield Check("host", "memory", f"{host_memory() / 2**30:.1f} GiB")


def _processor() -> tuple[str, list[str]]:
    """The processor as LLVM knows it, and which of the vector instructions it has."""
    try:
        from llvmlite import binding

        features = binding.get_host_cpu_features()
        return binding.get_host_cpu_name(), [name for name in _VECTORS if features.get(name)]
    except (ImportError, OSError, RuntimeError):
        return platform.processor() or "unknown processor", []


def _cache() -> Check:
    from gridstride.compiler.cache import cache_root

    folder = cache_root()
    mend = "kernels are compiled anew each time; set GRIDSTRIDE_CACHE to a folder that can be written"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Check("host", "cache", f"{folder}: {error.strerror}", None, mend)
    return Check("host", "cache", f"{folder}, {_size(folder) / 2**20:.1f} MiB")


def _size(folder: Path) -> int:
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.stat(os.path.join(path, name)).st_size
            except OSError:  # another process has just taken it away
                continue
    return total


def _gpu() -> Check:
    from gridstride.device.physical.driver import driver_present, physical_count
    from gridstride.protocol import DeviceError

    if not driver_present():
        return Check("devices", "physical GPU", "none: no NVIDIA driver", None, "nothing needs one, but for real times")
    if not physical_count():
        mend = "see whether nvidia-smi lists one, and CUDA_VISIBLE_DEVICES"
        return Check("devices", "physical GPU", "none: the driver finds no GPU", None, mend)
    try:
        from gridstride.device.physical.physical_gpu import PhysicalGPU

        gpu = PhysicalGPU(0)
    except DeviceError as error:
        return Check("devices", "physical GPU", str(error), None, "set GRIDSTRIDE_DEVICE=virtual until it works")
    version = f"{gpu.driver_version // 1000}.{gpu.driver_version % 1000 // 10}"
    memory = gpu.properties.total_memory / 2**30
    return Check("devices", "physical GPU", f"{gpu.name}, {memory:.0f} GiB, driver for CUDA {version}")


def _chosen() -> Check:
    from gridstride.device.choice import device
    from gridstride.protocol import DeviceError

    try:
        chosen = device()
    except (ValueError, DeviceError) as error:
        return Check("devices", "in use", str(error), False, "set GRIDSTRIDE_DEVICE=virtual, or unset it")
    return Check("devices", "in use", f"{chosen.name}: {chosen_because(chosen.kind)}")


def _self_test() -> Check:
    """Compiles and runs a kernel of one line on the virtual GPU, and looks at what it computed."""
    start = time.perf_counter()
    try:
        right = _twice()
    except Exception as error:  # whatever it is: to name it is what the doctor is for
        return Check("devices", "self-test", f"{type(error).__name__}: {error}", False, "see the lines above")
    elapsed = 1e3 * (time.perf_counter() - start)
    if not right:
        return Check("devices", "self-test", "the virtual GPU gave a wrong answer", False, "please report this machine")
    return Check("devices", "self-test", f"a kernel compiled and ran on the virtual GPU, right, in {elapsed:.0f} ms")


def _twice() -> bool:
    import numpy as np

    from gridstride.device.choice import use
    from gridstride.device.modules.module import cuda

    x = np.arange(_THREADS, dtype=np.float32)
    expected: Any = 2 * x
    with use("virtual"):
        cuda(_SELF_TEST, filename="doctor.cu")["twice"][1, _THREADS](x)
    return bool((x == expected).all())
