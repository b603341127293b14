"""The kernels of a source file by themselves, for programs that load them while they run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import compile_command, execute, hint
from gridstride.programs.toolchain.wheels import Toolchain

Form = Literal["ptx", "fatbin"]


def device_code(
    tools: Toolchain, file: Path, options: Options, *, arch: str, form: Form, progress: Callable[[str], None]
) -> bytes:  # fmt: skip
    """A .cu file's kernels as PTX, or as a fat binary with PTX; BuildFailed with what the compiler said."""
    words = [word for word in compile_command(tools, file, options, arch) if word != "-c"]
    if form == "ptx":  # for one GPU: nvcc takes no list of them then
        at = words.index("-gencode")
        words[at : at + 2] = [f"-arch={arch.replace('sm_', 'compute_')}"]
    progress(f"compiling {file}")
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target = Path(folder, f"code.{form}")
        status, message = execute([*words, f"-{form}", "-o", str(target)])
        if status or not target.is_file():
            raise BuildFailed(f"{file} does not compile{hint(message)}", message)
        if message:
            progress(message.rstrip())
        return target.read_bytes()
