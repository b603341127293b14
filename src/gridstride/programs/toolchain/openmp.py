"""OpenMP on several threads: LLVM's own library from a wheel, which zig's clang compiles for.

Without the wheel pragmas are ignored, and our omp.h is of one thread.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.sources import Options

WHEEL = "cmeel-libomp"
OPTIONS = frozenset(("-fopenmp", "-fopenmp=libomp", "-qopenmp"))
"""What asks a compiler for OpenMP."""
ONE_THREAD = f"OpenMP's pragmas are ignored, and omp.h is of one thread: pip install {WHEEL} for several"
_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<omp\.h>", re.MULTILINE)
_CALLS = (b"\0__kmpc_", b"\0omp_")


@dataclass(frozen=True, slots=True)
class OpenMP:
    """Where the wheel's header and library are."""

    include: Path
    library: Path

    @property
    def compiled(self) -> tuple[str, ...]:
        """Words for clang; the folder comes last, as other packages have headers there, too."""
        return ("-fopenmp", "-idirafter", str(self.include))

    @property
    def linked(self) -> tuple[str, ...]:
        """Words for a link; the library is found again where it is."""
        folder = self.library.parent
        return (f"-L{folder}", "-lomp", f"-Wl,-rpath,{folder}")


@functools.cache
def openmp() -> OpenMP | None:
    """The wheel's, None where it is not installed."""
    import importlib.metadata  # as long as a third of all that a command imports

    try:
        files = importlib.metadata.distribution(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None
    found = OpenMP(*(Path(str(files.locate_file(f"cmeel.prefix/{part}"))) for part in ("include", "lib/libomp.so")))
    return found if found.library.is_file() else None


def is_wanted(files: Iterable[Path], options: Options) -> bool:
    """Whether a program asks for OpenMP: by an option, or as a file of it includes omp.h; ProgramError for an option
    where there is none.
    """
    words = {part for flag in options.flags for part in re.split(r"[\s,=]", flag)}
    if OPTIONS & words and openmp() is None:
        raise ProgramError(f"-fopenmp needs LLVM's OpenMP: pip install {WHEEL}; without the option, {ONE_THREAD}")
    return bool(OPTIONS & words) or any(_INCLUDES.search(file.read_text(errors="replace")) for file in files)


def link_words(objects: Iterable[bytes]) -> Sequence[str]:
    """Words for a link of objects that call OpenMP's library; none where they do not, or it is not installed."""
    library = openmp()
    return library.linked if library is not None and any(c in data for data in objects for c in _CALLS) else ()
