"""The kernels of a source file by themselves, for programs that load them while they run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from gridstride.programs.program_errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain.compile import compile_command, execute, hint, listing
from gridstride.programs.toolchain.nvcc import carry_out, planned
from gridstride.programs.toolchain.texture_references import rewrite
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
        status, message = _run_nvcc([*words, f"-{form}", "-o", str(target)], file, target.parent, old=options.cuda11)
        if status or not target.is_file():
            raise BuildFailed(f"{file} does not compile{hint(message)}", message)
        if message:
            progress(message.rstrip())
        return target.read_bytes()


def _run_nvcc(command: Sequence[str], file: Path, folder: Path, *, old: bool) -> tuple[int, str]:
    """By nvcc, or in its steps where references of CUDA 11 are rewritten between them: exit status and messages."""
    if not old:
        return execute(command)
    status, listed = execute([*command, *listing(folder)])
    if status:
        return status, listed
    plan = planned(listed, file.stem)
    status, message = carry_out(plan, plan.preprocessing, execute, folder)
    if status:
        return status, message
    for text in plan.preprocessed:
        rewrite(text)
    later_steps = [number for number in range(len(plan.steps)) if number not in plan.preprocessing]
    status, more = carry_out(plan, later_steps, execute, folder)
    return status, message + more
