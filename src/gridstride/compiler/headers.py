"""Where the headers are that CUDA code takes for granted: ours for the standard ones, NVIDIA's from wheels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

OWN = Path(__file__).parent / "include"

# What each distribution must bring: a header that only it has, below one of its include folders.
_WHEELS = {
    "nvidia-cuda-runtime": "cuda_fp16.h",
    "nvidia-cuda-crt": "crt/mma.h",
    "nvidia-cuda-cccl": "cuda/std/cstdint",
}
_LAYOUTS = ("cu13/include", "cuda_runtime/include", "cuda_crt/include", "cuda_cccl/include")


@dataclass(frozen=True, slots=True)
class Headers:
    """Include folders in the order of search, and a text that changes when what lies in them does."""

    roots: tuple[Path, ...]
    version: str
    missing: tuple[str, ...]  # distributions whose headers were found nowhere

    def hold(self, file: str) -> bool:
        """Whether a path given in a diagnostic lies in these folders: the code is not the user's."""
        return file.startswith(tuple(f"{root}{os.sep}" for root in self.roots))


@cache
def find_headers() -> Headers:
    """The include folders of this installation; looked up once per process."""
    roots, versions, missing = [OWN], [fingerprint(OWN)], []
    wheel_folders, toolkit_folders = list(_wheel_folders()), list(_toolkit_folders())
    for distribution, probe in _WHEELS.items():
        folder = _holding(probe, wheel_folders) or _holding(probe, toolkit_folders)
        if folder is None:
            missing.append(distribution)
        elif folder not in roots:
            roots.append(folder)
        versions.append(distribution_version(distribution) or _stamp(folder, probe))
    return Headers(tuple(roots), "\n".join([*versions, *map(str, roots)]), tuple(missing))


@cache
def distribution_version(name: str) -> str:
    """The installed version of a wheel, empty when it is not installed.

    Read off the folder's name: importlib.metadata opens and parses it, which takes longer than a hit of the cache.
    """
    start = f"{name.replace('-', '_')}-"
    entries = (entry for site in _sites() for entry in _listing(site) if entry.lower().startswith(start))
    return next(
        (entry.removesuffix(".dist-info")[len(start) :] for entry in entries if entry.endswith(".dist-info")), ""
    )


@cache
def _listing(folder: str) -> tuple[str, ...]:
    return tuple(os.listdir(folder)) if os.path.isdir(folder) else ()


@cache
def _sites() -> tuple[str, ...]:
    """Folders that NVIDIA's wheels are installed to: wherever on sys.path their namespace package has a part."""
    nvidia = find_spec("nvidia")
    folders = (nvidia.submodule_search_locations if nvidia else None) or ()
    return tuple(dict.fromkeys(os.path.dirname(folder) for folder in folders))


@cache
def libdevice() -> Path | None:
    """The folder of libdevice.10.bc, CUDA's math functions as LLVM code: of a wheel, a toolkit or Triton's wheel."""
    below = Path("nvvm", "libdevice")
    folders = [folder.parent / below for folder in (*_wheel_folders(), *_toolkit_folders())]
    folders += [Path(site, "nvidia", "cuda_nvcc", below) for site in _sites()]
    triton = find_spec("triton")
    packages = (triton.submodule_search_locations if triton else None) or ()
    folders += [Path(package, "backends", "nvidia", "lib") for package in packages]
    return _holding("libdevice.10.bc", folders)


def _wheel_folders() -> Iterator[Path]:
    """Include folders below site-packages/nvidia, in the layouts that NVIDIA's wheels have had."""
    for site in _sites():
        for layout in _LAYOUTS:
            folder = Path(site, "nvidia", layout)
            yield folder
            yield folder / "cccl"


def _toolkit_folders() -> Iterator[Path]:
    """A CUDA toolkit's include folders: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda."""
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield Path(home) / "include"
            yield Path(home) / "include" / "cccl"


def _holding(probe: str, folders: list[Path]) -> Path | None:
    return next((folder for folder in folders if (folder / probe).is_file()), None)


def _stamp(folder: Path | None, probe: str) -> str:
    """A toolkit has no distribution version: its header's date and size stand for it."""
    if folder is None:
        return ""
    status = (folder / probe).stat()
    return f"{status.st_mtime_ns}:{status.st_size}"


def fingerprint(folder: str | Path) -> str:
    """Names, dates and sizes of headers of ours, so that an edited one is compiled anew."""
    entries = []
    with os.scandir(folder) as listing:
        for entry in listing:
            status = entry.stat()
            below = fingerprint(entry.path) if entry.is_dir() else f"{status.st_mtime_ns}:{status.st_size}"
            entries.append(f"{entry.name}:{below}")
    return " ".join(sorted(entries))


@cache
def library(pattern: str, *, toolkit: bool = True) -> Path | None:
    """A library of CUDA's by its file name or a pattern, from the wheels or a toolkit; None where there is none."""
    includes = (*_wheel_folders(), *(_toolkit_folders() if toolkit else ()))
    folders = (folder.parent / lib for folder in includes for lib in ("lib", "lib64"))
    paths = (path for folder in folders for path in sorted(folder.glob(pattern)))
    return next((path for path in paths if path.is_file()), None)
