"""Libraries of ours under the interfaces of NVIDIA's: CUDA sources, compiled once and linked to who calls them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gridstride.compiler.cache import shared
from gridstride.programs.compile import compile_command, execute
from gridstride.programs.errors import BuildFailed
from gridstride.programs.sources import Options
from gridstride.programs.toolchain import LIBRARIES, LIBRARY_HEADERS, Toolchain


@dataclass(frozen=True, slots=True)
class Library:
    """One library: `name` as in -l, `title` as people call it. Its sources lie in the folder of that name."""

    name: str
    title: str

    @property
    def sources(self) -> list[Path]:
        return sorted((LIBRARIES / self.name).glob("*.cu"))

    @property
    def notice(self) -> str:
        return (
            f"{self.title} is GridStride's own here: the vendor's interface, kernels of ours; "
            f"no time of theirs is {self.title}'s"
        )

    def is_called_by(self, objects: Iterable[bytes]) -> bool:
        """Whether an object names one of its functions, which in C lie there as they are."""
        name = re.compile(rb"(?<=\0)" + self.name.encode() + rb"[A-Z]\w*(?=\0)")
        return any(name.search(each) for each in objects)


OWN = (Library("cublas", "cuBLAS"),)


def called(objects: Sequence[bytes], options: Options) -> tuple[Library, ...]:
    """Those that a program needs: it names them by -l, or calls them."""
    return tuple(each for each in OWN if each.name in options.libraries or each.is_called_by(objects))


def library_objects(
    tools: Toolchain, library: Library, *, arch: str, progress: Callable[[str], None]
) -> list[bytes]:  # fmt: skip
    """An object for each of its sources, from the cache where they were compiled before; BuildFailed."""
    headers = [*LIBRARY_HEADERS.glob("*.h"), *(LIBRARIES / library.name).glob("*.h")]
    texts = [path.read_text() for path in sorted(headers)]
    return [_object(tools, source, texts, arch, progress) for source in library.sources]


def _object(
    tools: Toolchain, source: Path, headers: Sequence[str], arch: str, progress: Callable[[str], None]
) -> bytes:  # fmt: skip
    parts = [tools.identity, arch, source.name, source.read_text(), *headers]
    key = f"library {sha256(chr(0).join(parts).encode()).hexdigest()}"
    cache = shared("objects")
    known = cache.get(key)
    if known is not None:
        return known
    progress(f"compiling {source.parent.name}/{source.name} of GridStride's libraries, once")
    with tempfile.TemporaryDirectory(prefix="gridstride-") as folder:
        target = Path(folder, "object.o")
        status, said = execute([*compile_command(tools, source, Options(), arch), "-o", str(target)])
        if status or not target.is_file():
            raise BuildFailed(f"{source} does not compile", said)
        data = target.read_bytes()
    cache.put(key, data)
    return data
