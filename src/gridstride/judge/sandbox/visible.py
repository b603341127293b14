"""What a worker may see of the file system and of the environment: Python, its packages, CUDA, its own folder."""

from __future__ import annotations

import contextlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from gridstride.compiler.cache import cache_root
from gridstride.judge.sandbox import landlock

_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache",
           "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/urandom")  # fmt: skip
_DEVICES = ("/dev/null",)  # mapped and shared, /dev/zero is memory that nobody seems to hold
# What workers and submissions import, where it is not in a folder of packages, as with `pip install --target`.
_PACKAGES = ("numpy", "llvmlite", "cuda", "nvidia", "ml_dtypes", "triton", "numba", "numba_cuda", "torch")
_TOO_MUCH = ("/", "/usr", "/home", "/root", "/etc", "/tmp", "/usr/local", "/opt", "/var")


def environment(scratch: str, *, cache: bool) -> dict[str, str]:
    """As little as will do: no path, no credentials, one thread for NumPy's own products."""
    keep = {name: os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH", "LANG", "LC_ALL") if name in os.environ}
    folder = str(cache_root().absolute()) if cache else f"{scratch}/cache"
    return {**keep, "HOME": scratch, "TMPDIR": scratch, "GRIDSTRIDE_CACHE": folder, "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1",
            "TRITON_CACHE_DIR": f"{scratch}/triton", "NUMBA_CACHE_DIR": f"{scratch}/numba"}  # fmt: skip


def folders(scratch: str, *, cache: bool) -> list[tuple[str, int]]:
    """Paths, each with what may be done there."""
    from gridstride.compiler.headers import find_headers

    read = [*_python(), *_packages(), str(Path(__file__).resolve().parents[2]), *_SYSTEM]
    read += map(str, find_headers().roots)
    shown = [(path, landlock.READ_AND_RUN) for path in dict.fromkeys(map(os.path.abspath, read)) if _is_small(path)]
    shown += [(path, landlock.READ_FILE | landlock.WRITE_FILE) for path in _DEVICES]
    shown.append((scratch, landlock.ADD))
    if cache:
        root = cache_root().absolute()
        with contextlib.suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
        shown.append((str(root), landlock.EVERYTHING & ~landlock.EXECUTE))
    return shown


def _python() -> Iterator[str]:
    """Python's own library, and the folders that packages are installed to. Not sys.path: the folder that the judge
    was started in may be there, and whatever PYTHONPATH names.
    """
    installed = sysconfig.get_paths()
    yield from (installed[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield os.path.join(sys.base_prefix, "lib")  # shared libraries
    yield os.path.join(sys.base_prefix, "lib64")
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()


def _packages() -> Iterator[str]:
    """The packages that are needed, where they lie by themselves: each, the shared libraries that its wheel brings
    beside it, and what pip notes of it.

    Any folder `cuda` on the path is a part of the package of that name, which has no file of its own: of such a package
    those parts count that pip has installed.
    """
    installed = set(_python())
    for name in _PACKAGES:
        spec = PathFinder.find_spec(name)
        for path in (spec.submodule_search_locations or ()) if spec else ():
            folder = os.path.dirname(path)
            if spec is None or folder in installed:
                continue
            notes = _notes(name, folder)
            if spec.origin or notes:
                yield from (
                    path,
                    *notes,
                    *(libraries for libraries in (f"{path}.libs",) if os.path.exists(libraries)),
                )


def _notes(name: str, folder: str) -> list[str]:
    """The folders of notes on distributions whose names begin so."""
    with contextlib.suppress(OSError):
        names = (entry for entry in os.listdir(folder) if entry.startswith(name) and entry.endswith(".dist-info"))
        return [os.path.join(folder, entry) for entry in names]
    return []


def _is_small(path: str) -> bool:
    """A Python that is the system's own has /usr as its prefix: what is needed below it is in the list by itself."""
    return path not in _TOO_MUCH and os.path.realpath(path) not in _TOO_MUCH
