"""A folder as clang expects a CUDA toolkit to lie in, made of links to the wheels' headers and libdevice."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from gridstride.compiler.cache import cache_root
from gridstride.compiler.headers import OWN, distribution_version, find_headers, libdevice

BARE = Path(__file__).parent / "bare"
"""What stands for CUDA's headers where there are none."""
REPLACEMENTS = Path(__file__).parent / "include"
"""Headers that clang's wrapper includes and CUDA no longer has."""


@dataclass(frozen=True, slots=True)
class CudaFolder:
    """Clang's --cuda-path (None without CUDA's headers), further folders of headers, and whether libdevice is there."""

    path: Path | None
    includes: tuple[Path, ...]
    libdevice: bool


def libdevice_identity() -> str:
    """A text that changes when libdevice does: compiled code has its functions in it."""
    folder = libdevice()
    if folder is None:
        return ""
    status = (folder / "libdevice.10.bc").stat()
    return f"{folder} {distribution_version('nvidia-nvvm')} {status.st_mtime_ns} {status.st_size}"


def cuda_folder() -> CudaFolder:
    """The folder, made where it is not there yet."""
    return _prepared_folder(cache_root())


@cache
def _prepared_folder(root: Path) -> CudaFolder:
    headers = find_headers()
    if headers.missing:
        return CudaFolder(None, (BARE,), libdevice=False)
    roots = [folder for folder in headers.roots if folder != OWN]
    main = next(folder for folder in roots if (folder / "cuda_fp16.h").is_file())
    links = {"include": main}
    if (device := libdevice()) is not None:
        links["nvvm/libdevice"] = device
    name = blake2b(repr(sorted(links.items())).encode(), digest_size=12).hexdigest()
    folder = root / "clang" / name
    if not (folder / "include").exists():
        folder = _put(folder, links)
    return CudaFolder(folder, tuple(root_path for root_path in roots if root_path != main), device is not None)


def _put(folder: Path, links: dict[str, Path]) -> Path:
    """The folder with its links, made aside and renamed, as others may look; elsewhere where the cache takes none."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
    except OSError:
        folder = aside = Path(tempfile.mkdtemp(prefix="gridstride-clang-"))
    (aside / "bin").mkdir()
    for name, target in links.items():
        (aside / name).parent.mkdir(exist_ok=True)
        (aside / name).symlink_to(target, target_is_directory=True)
    if aside != folder:
        try:
            os.rename(aside, folder)
        except OSError:  # another process was first, or a link leads to where a wheel no longer is
            stale = not (folder / "include").exists()
            shutil.rmtree(folder if stale else aside, ignore_errors=True)
            if stale:
                os.rename(aside, folder)
    return folder
