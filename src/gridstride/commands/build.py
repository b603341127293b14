"""`gridstride build`: a program, or the kernels that a program loads, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridstride.commands.run import chip_of, not_built
from gridstride.commands.terminal import WrongUse, emit, print_stderr
from gridstride.programs.program_errors import BuildFailed, ProgramError
from gridstride.programs.run import build
from gridstride.programs.saved import save
from gridstride.programs.sources import CUDA_SUFFIXES, HOST_SUFFIXES, Options, sources
from gridstride.programs.toolchain.device_code import Form, device_code
from gridstride.programs.toolchain.wheels import toolchain

_WRITTEN_BY_PEOPLE = (*CUDA_SUFFIXES, *HOST_SUFFIXES, ".cuh", ".h", ".hpp", ".py")
"""Endings of files that no compiler may write over."""


def run(
    words: Sequence[str], *, output: str | None, chip: str | None, options: dict[str, Any], ptx: bool, fatbin: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Exit status: 1 for what does not compile."""
    if ptx and fatbin:
        raise WrongUse("--ptx and --fatbin are two forms of device code: give one of them")
    model = chip_of(None, chip)
    try:
        files = sources(words)
        _check_output(output, files)
        if ptx or fatbin:
            form: Form = "ptx" if ptx else "fatbin"
            written = [_device_code(files, output, form, Options(**options), model.properties.arch)]
        else:
            built = build(files, Options(**options), arch=model.properties.arch, progress=print_stderr)
            written = save(built, Path(output or files[0].stem), chip=model.key)
    except BuildFailed as failed:
        return not_built(failed, as_json)
    except ProgramError as error:
        raise WrongUse(str(error)) from None
    if as_json:
        emit({"files": [str(path) for path in written]})
    else:
        print_stderr(f"wrote {', '.join(map(str, written))}")
    return 0


def _check_output(output: str | None, files: Sequence[Path]) -> None:
    """WrongUse, before anything is compiled, for a place that cannot be written, or that a source is at."""
    if output is None:
        return
    target = Path(output)
    if target.is_dir():
        raise WrongUse(f"-o {output} is a folder: name a file in it, say {target / files[0].stem}")
    if not target.parent.is_dir():
        raise WrongUse(f"-o {output}: there is no folder {target.parent}")
    if any(target.resolve() == file.resolve() for file in files) or target.suffix in _WRITTEN_BY_PEOPLE:
        raise WrongUse(f"-o {output} is the name of a source: choose another one, nothing was changed")


def _device_code(files: Sequence[Path], output: str | None, form: Form, options: Options, arch: str) -> Path:
    if len(files) != 1 or files[0].suffix not in CUDA_SUFFIXES:
        raise WrongUse(f"--{form} takes one .cu file")
    target = Path(output) if output else files[0].with_suffix(f".{form}")
    data = device_code(toolchain(), files[0], options, arch=arch, form=form, progress=print_stderr)
    try:
        target.write_bytes(data)
    except OSError as error:
        raise WrongUse(f"-o {target} cannot be written: {error.strerror}") from None
    return target
