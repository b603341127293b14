"""Our runtime library under the names by which Python's CUDA packages open the driver and its compilers.

cuda.bindings and numba open `libcuda.so.1` and its like by name. The dynamic linker takes a library for that whose
SONAME it is: an empty one for each name, which needs our libcudart and so finds its functions.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import cache_root, write_atomically
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.toolchain.runtime_library import SONAME, runtime_library
from gridstride.programs.toolchain.wheels import Toolchain, environment, host_flags

NAMES = ("libcuda.so.1", "libnvrtc.so.13", "libnvJitLink.so.13")
"""The driver; NVRTC and nvJitLink, of which ours give PTX for machine code."""


def library_folder(tools: Toolchain, *, progress: Callable[[str], None]) -> Path:
    """A folder with our libcudart and one library for each of NAMES; BuildFailed, ProgramError.

    On disk, as processes that the program starts load them, too.
    """
    runtime = runtime_library(tools, progress=progress)
    folder = cache_root() / "python-programs" / sha256(runtime + repr(NAMES).encode()).hexdigest()[:16]
    if all((folder / name).is_file() for name in (SONAME, *NAMES)):
        return folder
    try:
        write_atomically(folder / SONAME, runtime)
        for name in NAMES:
            write_atomically(folder / name, _named(tools, name, folder / SONAME))
    except OSError as error:
        raise ProgramError(
            f"the cache {cache_root()} cannot be written ({error.strerror}), and Python programs need one: "
            "GRIDSTRIDE_CACHE names another folder"
        ) from None
    return folder


def _named(tools: Toolchain, name: str, runtime: Path) -> bytes:
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        empty, target = Path(folder, "empty.c"), Path(folder, name)
        empty.write_text("")
        command = [
            str(tools.zig), "cc", *host_flags(), "-shared", str(empty), "-Wl,--no-as-needed", str(runtime),
            f"-Wl,-soname,{name}", "-o", str(target),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment())
        if done.returncode or not target.is_file():
            raise BuildFailed(f"{name} does not link", done.stdout + done.stderr)
        return target.read_bytes()
