"""Writes a page so that a reader sees the whole of it or what was there before."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def save(path: str | Path, text: str) -> None:
    """Write aside, then rename; OSError when the folder cannot be written. An interrupt leaves nothing half-written."""
    save_bytes(path, [text.encode("utf-8")])


def save_bytes(path: str | Path, pieces: Iterable[bytes]) -> None:
    """The same for something that comes in pieces."""
    path = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp gives a file to its owner alone
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
