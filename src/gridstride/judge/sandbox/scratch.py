"""A worker's own folder: what lies in it, and its removal, however deep, wide or closed its worker made it."""

from __future__ import annotations

import contextlib
import os

MOST_FILES = 2_048  # a compiler makes some dozens, and a disk may take milliseconds to remove one
_DEEPEST = 64  # folders within folders


class TooMuchError(Exception):
    """More than is looked at; the message says of what."""


def bytes_below(folder: str) -> int:
    """Bytes of all files in a folder, or that they take where that is more; TooMuchError for one that has too many
    files, is too deep, or holds what cannot be looked at. What goes meanwhile counts as nothing.
    """
    total, file_count = 0, 0
    pending = [(folder, 0)]
    while pending:
        path, depth = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    file_count += 1
                    if file_count > MOST_FILES:
                        raise TooMuchError(f"more than {MOST_FILES} files")
                    total += _size(entry)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, depth + 1))
        except FileNotFoundError:
            continue
        except OSError as error:  # without the right to read it, or a path that is too long
            raise TooMuchError(f"a folder that cannot be looked into ({error.strerror})") from error
        if depth > _DEEPEST:
            raise TooMuchError(f"folders {depth} deep")
    return total


def _size(entry: os.DirEntry[str]) -> int:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return 0
    return max(status.st_size, 512 * status.st_blocks)


def remove(folder: str) -> None:
    """Remove a folder that nothing writes to any more; what cannot be removed stays.

    From folder to folder by descriptor, one at a time: there is no path to be too long and no stack to run out.
    """
    with contextlib.suppress(OSError):
        _empty(folder)
        os.rmdir(folder)


def _empty(folder: str) -> None:
    descriptor = _opened(folder)
    try:
        path: list[str] = []
        pending = [_clear_files(descriptor)]  # of each folder on the path, the folders in it
        while pending[-1] or path:
            if pending[-1]:
                path.append(pending[-1].pop())
                descriptor = _step(descriptor, path[-1])
                pending.append(_clear_files(descriptor))
            else:
                pending.pop()
                descriptor = _step(descriptor, "..")
                os.rmdir(path.pop(), dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _clear_files(descriptor: int) -> list[str]:
    """Remove the files of a folder; the names of the folders in it."""
    folders = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=descriptor)
    return folders


def _step(descriptor: int, name: str) -> int:
    child = _opened(name, descriptor)
    os.close(descriptor)
    return child


def _opened(name: str, within: int | None = None) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=within)
    except PermissionError:  # its maker closed it, and it is ours all the same
        os.chmod(name, 0o700, dir_fd=within)
        return os.open(name, flags, dir_fd=within)
