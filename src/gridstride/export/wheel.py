"""An exported folder as a wheel: compiled here, by a CUDA toolkit and a C++ compiler or by those that come as wheels.

What is built speaks to PyTorch by its stable C interface and to Python not at all, so that one wheel serves every
Python, and PyTorch 2.10 and newer.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gridstride.export.export_errors import ExportError
from gridstride.export.package import Package
from gridstride.programs.program_errors import ProgramError
from gridstride.programs.toolchain.wheels import environment, host_flags, toolchain

ARCHITECTURES = ((7, 5), (8, 0), (9, 0))
"""Compute capabilities that have code of their own; newer ones take the last one's PTX."""
_HOPPER_ALONE = (9, 0)  # what a kernel that needs 9.0 uses is in no other GPU
_LEAST_TORCH = (2, 10)
_TARGET = "-DTORCH_TARGET_VERSION=0x020a000000000000"
_FOLDERS = ("lib64", "lib", "lib/*", "targets/*/lib", "cuda*/lib64")
_RUNTIMES = tuple(f"{folder}/libcudart_static.a" for folder in _FOLDERS)
"""Below a toolkit's folder, as NVIDIA's, Debian's and conda's are laid out; the last for an nvcc in /usr/local/bin."""
_HIDDEN = "-Wl,--exclude-libs,ALL"
"""For compilers that link the C++ library statically: its streams would mix with the process's own, and the first error
of an op would crash. zig's linker does not know it, and its C++ library has other names.
"""
_AT_A_TIME = 2
_SECONDS = 1800
_VERSION = "0.1.0"
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same files make the same wheel


@dataclass(frozen=True, slots=True)
class Compilers:
    """How a source is compiled and objects are linked."""

    nvcc: tuple[str, ...]
    link: tuple[str, ...]
    runtime: tuple[str, ...]
    environment: Mapping[str, str]
    versions: str


def build(what: Package, folder: Path, torch: Path, compilers: Compilers) -> Path:
    """The wheel, in the folder's `dist`; ExportError with what a compiler said. `torch`: PyTorch's own folder."""
    with tempfile.TemporaryDirectory(prefix="gridstride-") as room:
        library = Path(room) / "_C.so"
        sources = [folder / "csrc" / f"{op.name}.cu" for op in what.ops]
        objects = [Path(room) / f"{source.stem}.o" for source in sources]
        flags = [*architecture_flags(what), _TARGET, "-std=c++17", "-O3", "-Xcompiler", "-fPIC", "-w"]
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            commands = [
                [*compilers.nvcc, "-c", *flags, "-I", str(torch / "include"), "-o", str(target), str(source)]
                for source, target in zip(sources, objects, strict=True)
            ]
            list(pool.map(lambda command: _run(command, compilers), commands))
        link = [*compilers.link, "-shared", "-o", str(library), *map(str, objects), *compilers.runtime]
        _run([*link, "-L", str(torch / "lib"), "-lc10", "-ltorch_cpu", "-lpthread", "-ldl"], compilers)
        return _pack(what, folder, library.read_bytes())


def installed_compilers() -> Compilers:
    """The compilers of this machine: nvcc and c++ on PATH, else those of the extra `programs`; ExportError."""
    nvcc, host = shutil.which("nvcc"), shutil.which(os.environ.get("CXX", "c++"))
    if nvcc is not None and host is not None:
        home = Path(os.environ.get("CUDA_HOME", Path(nvcc).resolve().parent.parent))
        runtime = next((path for folder in _RUNTIMES for path in sorted(home.glob(folder))), None)
        if runtime is not None:
            words = (nvcc, "-ccbin", host)
            return Compilers(words, (host, _HIDDEN), (str(runtime), "-lrt"), os.environ, f"{nvcc} and {host}")
    try:
        tools = toolchain()
    except ProgramError as missing:
        raise ExportError(f"there is no nvcc with a C++ compiler on PATH, and {missing}") from None
    zig = (str(tools.zig), "c++", *host_flags())
    nvcc_words = (str(tools.nvcc), "-ccbin", str(tools.host_compiler))
    runtime = tools.cuda / "lib" / "libcudart_static.a"
    return Compilers(nvcc_words, zig, (str(runtime),), environment(), "the compilers of the extra `programs`")


def torch_folder() -> Path:
    """PyTorch's folder, without importing it; ExportError where there is none, or one that is too old."""
    from importlib import metadata, util

    spec = util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ExportError("a wheel is built against PyTorch, which is not installed: pip install torch")
    version = metadata.version("torch")
    if tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < _LEAST_TORCH:
        raise ExportError(f"PyTorch {version} is installed, and its stable interface is complete from 2.10 on")
    return Path(next(iter(spec.submodule_search_locations)))


def architecture_flags(what: Package) -> list[str]:
    """For which GPUs nvcc writes code."""
    if what.needs == _HOPPER_ALONE:
        return ["-gencode", "arch=compute_90a,code=sm_90a"]
    names = [f"{major}{minor}" for major, minor in ARCHITECTURES if what.needs is None or (major, minor) >= what.needs]
    flags = [word for name in names for word in ("-gencode", f"arch=compute_{name},code=sm_{name}")]
    return [*flags, "-gencode", f"arch=compute_{names[-1]},code=compute_{names[-1]}"]


def _run(command: Sequence[str], compilers: Compilers) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=dict(compilers.environment), check=False,
                              timeout=_SECONDS, errors="replace")  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ExportError(f"{Path(command[0]).name} had not ended after {_SECONDS} s") from None
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        shown = "\n".join(lines[-30:])
        raise ExportError(f"building with {compilers.versions} failed ({Path(command[0]).name}):\n{shown}")


def _pack(what: Package, folder: Path, library: bytes) -> Path:
    """The wheel file, as PEP 427 has it."""
    name = f"{what.name}-{_VERSION}"
    info = f"{name}.dist-info"
    tag = f"py3-none-linux_{platform.machine()}"
    title = what.ops[0].problem.title
    files = {
        f"{what.name}/__init__.py": (folder / what.name / "__init__.py").read_bytes(),
        f"{what.name}/_C.so": library,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.4\nName: {what.name.replace('_', '-')}\nVersion: {_VERSION}\n"
            f"Summary: {title}, as an op of PyTorch\nRequires-Python: >=3.10\nRequires-Dist: torch>=2.10\n"
            "License-File: LICENSE\n"
        ).encode(),
        f"{info}/licenses/LICENSE": (folder / "LICENSE").read_bytes(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: gridstride\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    files[f"{info}/RECORD"] = "".join(_records(files, f"{info}/RECORD")).encode()
    path = folder / "dist" / f"{name}-{tag}.whl"
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for filename, data in files.items():
            wheel.writestr(zipfile.ZipInfo(filename, _STAMP), data, zipfile.ZIP_DEFLATED)
    return path


def _records(files: Mapping[str, bytes], own: str) -> Iterator[str]:
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(data)}\n"
    yield f"{own},,\n"
