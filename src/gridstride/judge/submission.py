"""A user's own kernel file: read, held to the GPU that it needs, and judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gridstride.judge.find import Folder
from gridstride.judge.header import HeaderError, KernelFile, read_kernel
from gridstride.judge.ladder import Ladder, Listeners, Progress, quiet
from gridstride.judge.sandbox.python_header import is_python, parse_python
from gridstride.judge.sandbox.subject import Sandbox
from gridstride.judge.verdict import RungResult, Twin
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
    needed, available = (".".join(map(str, capability or ())) for capability in (file.needs, gpu.compute_capability))
    line = next(n for n, text in enumerate(file.source.splitlines(), 1) if _NEEDS.match(text))
    suitable_chips = [name for name in chips() if file.runs_on(chip_named(name).properties)]
    way = f"--chip {suitable_chips[0]} has it" if suitable_chips else "no chip here has it: is the line right?"
    raise HeaderError(file.filename, line, f"needs {needed}, and {gpu.name} has {available}: {way}")


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
    ladder = Ladder(folder, device=device, seed=seed, listeners=Listeners(progress), sandbox=sandbox)
    try:
        require(file, ladder.device.properties)
        return ladder.judge(file)
    finally:
        ladder.close()


def twins(folder: Folder) -> tuple[KernelFile, ...]:
    """The problem's kernels in Triton and Numba that lie beside its rungs; HeaderError when a header is wrong."""
    return tuple(submission(path) for path in sorted((folder.path / "twins").glob("*.py")))


def language(twin: KernelFile) -> str:
    """The library that compiles a twin, as it is imported."""
    return parse_python(twin.source, filename=twin.filename).language


def judge_twins(ladder: Ladder, files: Sequence[KernelFile], *, progress: Progress = quiet) -> Iterator[RungResult]:
    """Judge them on the ladder's device and its cases; Python is compiled in a worker under limits. The results join
    the ladder's.
    """
    if not files:
        return
    boxed = Ladder(ladder.folder, device=ladder.device, seed=ladder.seed, listeners=Listeners(progress), sandbox=True)
    try:
        for file in files:
            result = boxed.judge(file)
            ladder.twins.append(Twin(file, result))
            yield result
    finally:
        boxed.close()
