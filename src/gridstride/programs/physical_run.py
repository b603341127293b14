"""A program on this machine's GPU: compiled by the CUDA toolkit that is installed, and run as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from gridstride.programs.program_errors import BuildFailed, MissingToolchain
from gridstride.programs.run import Ended, run_on_hardware
from gridstride.programs.sources import Options

_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")
"""Variables that name the folder of one."""
_USUAL = Path("/usr/local/cuda")


def nvcc() -> Path:
    """The toolkit's compiler; MissingToolchain."""
    named = [Path(os.environ[name]) for name in _TOOLKITS if os.environ.get(name)]
    for folder in (*named, _USUAL):
        if (compiler := folder / "bin" / "nvcc").is_file():
            return compiler
    if program := shutil.which("nvcc"):
        return Path(program)
    raise MissingToolchain(
        "--device physical compiles with the CUDA toolkit, and there is no nvcc: install the toolkit, or name its "
        "folder in CUDA_HOME. The virtual GPU needs neither: leave --device out"
    )


def words(compiler: Path, files: Sequence[Path], options: Options, target: Path) -> list[str]:
    """The command that compiles and links for the GPU of this machine."""
    return [
        str(compiler), "-O2", "-lineinfo", "-arch=native", *(word for path in options.include for word in ("-I", path)),
        *(f"-D{definition}" for definition in options.define), *([f"-std={options.std}"] if options.std else []),
        *(["-rdc=true"] if options.relocatable else []), *options.flags, *map(str, files),
        *(f"-l{library}" for library in options.libraries), "-o", str(target),
    ]  # fmt: skip


def build_and_run(
    files: Sequence[Path], options: Options, arguments: Sequence[str], *, time_limit: float | None, stdout: int | None,
    progress: Callable[[str], None],
) -> Ended:  # fmt: skip
    """How the program ended; `arguments` begin with its name. MissingToolchain, BuildFailed."""
    compiler = nvcc()
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target = Path(folder, "program")
        progress(f"compiling with {compiler}")
        built = subprocess.run(
            words(compiler, files, options, target), capture_output=True, text=True, errors="replace", check=False
        )
        if built.returncode or not target.is_file():
            raise BuildFailed(f"{files[0]} does not compile", built.stdout + built.stderr)
        return run_on_hardware(arguments, executable=target, time_limit=time_limit, stdout=stdout)
