"""A user's own kernel file: read, held to the GPU that it needs, and judged."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from gridstride.judge.find import Folder
from gridstride.judge.header import HeaderError, KernelFile, read_kernel
from gridstride.judge.ladder import Ladder, Progress, quiet
from gridstride.judge.sandbox.python_header import is_python, parse_python
from gridstride.judge.sandbox.subject import Sandbox
from gridstride.judge.verdict import RungResult
from gridstride.protocol import Device, DeviceProperties
from gridstride.virtual.chips import chip as chip_named
from gridstride.virtual.chips import names as chips

_NEEDS = re.compile(r"\s*(?://|#)\s*needs\s*:")


def submission(path: str | Path) -> KernelFile:
    """A user's kernel file, in CUDA C++ or Python; HeaderError and OSError for one that cannot be read."""
    if not is_python(str(path)):
        return read_kernel(path)
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    return replace(parse_python(text, filename=str(path)).kernel, name=Path(path).stem)


def require(file: KernelFile, gpu: DeviceProperties) -> None:
    """HeaderError where the file says that it needs a GPU of more compute capability than this one's."""
    if file.runs_on(gpu):
        return
    asked, has = (".".join(map(str, each or ())) for each in (file.needs, gpu.compute_capability))
    line = next(n for n, text in enumerate(file.source.splitlines(), 1) if _NEEDS.match(text))
    others = [name for name in chips() if file.runs_on(chip_named(name).properties)]
    way = f"--chip {others[0]} has it" if others else "no chip here has it: is the line right?"
    raise HeaderError(file.filename, line, f"needs {asked}, and {gpu.name} has {has}: {way}")


def check(
    path: str | Path,
    folder: Folder,
    *,
    device: Device | str | None = None,
    seed: int | None = None,
    progress: Progress = quiet,
    sandbox: bool | Sandbox = True,
) -> RungResult:
    """The verdict on a user's own kernel file; HeaderError and OSError for a file that cannot be read.

    It is compiled and run on the virtual GPU in a worker process under limits, unless `sandbox` is False. One that was
    started before, for the same virtual GPU, is used and closed.
    """
    file = submission(path)
    ladder = Ladder(folder, device=device, seed=seed, progress=progress, sandbox=sandbox)
    try:
        require(file, ladder.device.properties)
        return ladder.judge(file)
    finally:
        ladder.close()
