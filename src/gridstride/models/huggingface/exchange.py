"""A finished folder takes another's place at once: at no moment is there neither the old one nor the new."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def put_in_place(new: Path, target: Path) -> None:
    """Make `new` the folder `target`; what was there before lies in `new` afterwards, or is gone. Durable on return."""
    for path in (*new.rglob("*"), new):
        _sync(path)
    if not target.exists():
        os.rename(new, target)
    elif not _exchange(new, target):
        _two_renames(new, target)
    _sync(target.parent)


def _exchange(a: Path, b: Path) -> bool:
    """Linux swaps two names in one step; False where the system or its file system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0)


def _two_renames(new: Path, target: Path) -> None:
    """The name is free for a moment; were the process killed just then, the old folder lies beside it as `….old`."""
    old = target.with_name(f"{target.name}.old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
