"""What a program is made of: the files that were named, or those of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.programs.program_errors import ProgramError

CUDA_SUFFIXES = (".cu",)
HOST_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")


@dataclass(frozen=True, slots=True)
class Options:
    """How the files are compiled and linked; words are nvcc's."""

    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    std: str | None = None
    relocatable: bool = False
    flags: tuple[str, ...] = ()
    """Handed to nvcc as they are."""
    openmp: bool = False
    """Whether OpenMP's pragmas are compiled (`toolchain.openmp`)."""
    cuda11: bool = False
    """Whether what releases after CUDA 11 dropped is there (`toolchain.old_headers`)."""


_FOR_THE_PROGRAM = ": what is for the program goes behind --, as in gridstride run prog.cu -- 1000"


def sources(words: Sequence[str]) -> tuple[Path, ...]:
    """The files to compile; ProgramError for what is none."""
    files = [file for word in words for file in _files(Path(word))]
    for twice in {file for file in files if files.count(file) > 1}:
        raise ProgramError(f"{twice} is named twice")
    return tuple(files)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (*CUDA_SUFFIXES, *HOST_SUFFIXES))
        if not files:
            raise ProgramError(f"the folder {path} has no .cu, .cpp, .cc, .cxx or .c file")
        return files
    if not path.exists():
        raise ProgramError(f"there is no file {path}{_FOR_THE_PROGRAM * (not path.suffix)}")
    if not path.is_file():
        raise ProgramError(f"{path} is a pipe or a device: write what is in it to a file first")
    if path.suffix not in (*CUDA_SUFFIXES, *HOST_SUFFIXES):
        hint = f": gridstride run {path} runs it" if path.suffix == ".py" else ""
        raise ProgramError(f"{path} is no CUDA program: .cu, .cpp, .cc, .cxx and .c files are compiled{hint}")
    if path.suffix in CUDA_SUFFIXES and '"' in str(path.absolute()):
        raise ProgramError(f"{path} cannot be compiled: nvcc takes no double quote in a path, so rename what has it")
    return [path]
