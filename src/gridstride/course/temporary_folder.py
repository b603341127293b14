"""One folder for all temporary files of a process, and the removal of those whose process was killed.

A process that is killed removes nothing. Its folder has a file that it held a lock on, which the system has released:
the next process of the same user that begins finds it so.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gridstride.judge.sandbox import scratch

_PREFIX = "gridstride-of-process-"
_LOCK = "lock"
_BEING_MADE = 60.0  # seconds in which a new folder may have no lock yet


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Inside, temporary files lie in this folder; it goes at the end, and what killed processes left goes now."""
    previous = tempfile.tempdir
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX)))
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tempfile.tempdir = str(folder)
        yield folder
    finally:
        tempfile.tempdir = previous
        scratch.remove(str(folder))
        os.close(lock)


def _sweep(root: Path) -> None:
    """Remove this user's folders whose process has gone."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    """OSError where it is not ours to look at, or BlockingIOError where its process goes on."""
    status = entry.stat(follow_symlinks=False)
    if status.st_uid != os.geteuid() or not entry.is_dir(follow_symlinks=False):
        return
    try:
        lock = os.open(Path(entry.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        if time.time() - status.st_mtime > _BEING_MADE:
            scratch.remove(entry.path)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scratch.remove(entry.path)
    finally:
        os.close(lock)
