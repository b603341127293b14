"""What Numba kernels are linked with: CUDA C++ and PTX given as `link=`, and Numba's own functions for float16."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gridstride.compiler.cuda.compile_cuda import compile_cuda
from gridstride.protocol import LinkInput


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
        linked = from_path.__func__(path)
        linked._name = path
        return linked

    nvrtc.compile = lambda text, name, *args, **how: (CudaText(_decoded(text), name), "")
    code.from_path = staticmethod(named)
    try:
        yield
    finally:
        nvrtc.compile, code.from_path = compile_, from_path


def link_pieces(links: Sequence[Any], kernel: str, arch: str) -> tuple[LinkInput, ...]:
    """PTX of all that a kernel is linked with, each file once; ValueError for what is neither CUDA C++ nor PTX."""
    texts = dict.fromkeys(_text_of(link, kernel) for link in links)
    return tuple(_piece(text, arch) for text in texts)


def own(link: Any) -> bool:
    """Whether code comes from Numba's own package, which its version stands for."""
    return isinstance(link, CudaText) and Path(link.name).is_relative_to(_numba())


def _text_of(link: Any, kernel: str) -> CudaText:
    if isinstance(link, CudaText):
        return link
    if isinstance(link, str | Path):
        try:
            return CudaText(Path(link).read_text(encoding="utf-8-sig"), str(link))
        except UnicodeDecodeError:
            raise ValueError(f"{kernel}: link= takes CUDA C++ and PTX, {link} is neither") from None
        except OSError as error:
            raise ValueError(f"{kernel}: link= names {link}, which cannot be read: {error.strerror}") from None
    kind = getattr(link, "kind", type(link).__name__)
    if kind not in ("cu", "ptx"):
        raise ValueError(f"{kernel}: link= takes CUDA C++ and PTX, {getattr(link, 'name', link)} is of kind {kind}")
    return CudaText(_decoded(link.data), link.name if kind == "cu" else f"{link.name}".removesuffix(".ptx") + ".ptx")


def _piece(text: CudaText, arch: str) -> LinkInput:
    if text.name.endswith(".ptx"):
        return LinkInput(text.text, text.name)
    folders = [Path(text.name).absolute().parent, _numba() / "memory_management"]
    options = ("--relocatable-device-code=true",)
    compiled = compile_cuda(
        text.text, arch=arch, options=options, filename=text.name, include_paths=folders, compiler="nvrtc"
    )
    return LinkInput(compiled.ptx, text.name, text.text)


def _numba() -> Path:
    return Path(str(import_module("numba.cuda").__file__)).parent


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)
