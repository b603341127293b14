"""Libraries of ours under the interfaces of NVIDIA's: CUDA sources that are linked to the programs that call them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridstride.programs.sources import Options
from gridstride.programs.toolchain.wheels import LIBRARIES, LIBRARY_HEADERS


@dataclass(frozen=True, slots=True)
class Library:
    """One library: `name` as in -l, `title` as people call it. Its sources lie in the folder of that name."""

    name: str
    title: str

    @property
    def sources(self) -> list[Path]:
        return sorted((LIBRARIES / self.name).glob("*.cu"))

    @property
    def headers(self) -> list[Path]:
        """All that its sources may include."""
        return sorted([*LIBRARIES.glob("*.h"), *LIBRARY_HEADERS.glob("*.h"), *(LIBRARIES / self.name).glob("*.h")])

    @property
    def notice(self) -> str:
        return (
            f"{self.title} is GridStride's own here: the vendor's interface, kernels of ours; "
            f"no time of theirs is {self.title}'s"
        )

    def is_called_by(self, objects: Iterable[bytes]) -> bool:
        """Whether an object names one of its functions, which in C lie there as they are."""
        name = re.compile(rb"(?<=\0)" + self.name.encode() + rb"[A-Z]\w*(?=\0)")
        return any(name.search(object_) for object_ in objects)


OWN = (
    Library("cublas", "cuBLAS"),
    Library("cufft", "cuFFT"),
    Library("curand", "cuRAND"),
    Library("cusparse", "cuSPARSE"),
)


def called(objects: Sequence[bytes], options: Options) -> tuple[Library, ...]:
    """Those that a program needs: it names them by -l, or calls them."""
    return tuple(library for library in OWN if library.name in options.libraries or library.is_called_by(objects))


def lacking(function: str) -> str | None:
    """Where a name is that of a function which a library of ours does not have: so, in words."""
    for library in OWN:
        if re.match(rf"{library.name}(?!Lt)[A-Z]", function):
            return f"{function} is not among what GridStride's own {library.title} has (docs/programs.md)"
    return None
