"""What Numba kernels are linked with: CUDA C++ and PTX given as `link=`, and Numba's own functions for float16."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.protocol import Piece


@dataclass(frozen=True, slots=True)
class CudaText:
    """CUDA C++ that Numba was about to hand to NVRTC."""

    text: str
    name: str


@contextmanager
def as_text() -> Iterator[None]:
    """Has Numba leave CUDA C++ that is to be linked as it is, under its whole path."""
    linkable_code: Any = import_module("numba.cuda.cudadrv.linkable_code")
    nvrtc: Any = import_module("numba.cuda.cudadrv.nvrtc")
    code = linkable_code.LinkableCode
    compile_, from_path = nvrtc.compile, code.__dict__["from_path"]

    def named(path: str) -> Any:
        made = from_path.__func__(path)
        made._name = path
        return made

    nvrtc.compile = lambda text, name, *args, **how: (CudaText(_decoded(text), name), "")
    code.from_path = staticmethod(named)
    try:
        yield
    finally:
        nvrtc.compile, code.from_path = compile_, from_path


def link_pieces(given: Sequence[Any], kernel: str, arch: str) -> tuple[Piece, ...]:
    """PTX of all that a kernel is linked with, each file once; ValueError for what is neither CUDA C++ nor PTX."""
    texts = dict.fromkeys(_text_of(each, kernel) for each in given)
    return tuple(_piece(text, arch) for text in texts)


def own(given: Any) -> bool:
    """Whether code comes from Numba's own package, which its version stands for."""
    return isinstance(given, CudaText) and Path(given.name).is_relative_to(_numba())


def _text_of(given: Any, kernel: str) -> CudaText:
    if isinstance(given, CudaText):
        return given
    if isinstance(given, str | Path):
        try:
            return CudaText(Path(given).read_text(encoding="utf-8-sig"), str(given))
        except UnicodeDecodeError:
            raise ValueError(f"{kernel}: link= takes CUDA C++ and PTX, {given} is neither") from None
        except OSError as error:
            raise ValueError(f"{kernel}: link= names {given}, which cannot be read: {error.strerror}") from None
    kind = getattr(given, "kind", type(given).__name__)
    if kind not in ("cu", "ptx"):
        raise ValueError(f"{kernel}: link= takes CUDA C++ and PTX, {getattr(given, 'name', given)} is of kind {kind}")
    return CudaText(_decoded(given.data), given.name if kind == "cu" else f"{given.name}".removesuffix(".ptx") + ".ptx")


def _piece(given: CudaText, arch: str) -> Piece:
    if given.name.endswith(".ptx"):
        return Piece(given.text, given.name)
    folders = [Path(given.name).absolute().parent, _numba() / "memory_management"]
    options = ("--relocatable-device-code=true",)
    made = compile_cuda(
        given.text, arch=arch, options=options, filename=given.name, include_paths=folders, compiler="nvrtc"
    )
    return Piece(made.ptx, given.name, given.text)


def _numba() -> Path:
    return Path(str(import_module("numba.cuda").__file__)).parent


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)
