"""A cache on disk that many processes may share and that can always be deleted: a failure is a miss, never an error."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from hashlib import blake2b, sha256
from pathlib import Path

_DIGEST_BYTES = 16
_EVICT_EVERY = 32  # entries written between two looks at the size: looking walks the folder
_KEPT_SHARE = 0.75  # of the bound, after an eviction, so that the next few entries fit


def cache_root() -> Path:
    """$GRIDSTRIDE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("GRIDSTRIDE_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir  # here: an explicit folder should not pay for the import

    return Path(user_cache_dir("gridstride", appauthor=False))


MAX_BYTES = 512 << 20


def shared(kind: str, *, max_bytes: int = MAX_BYTES) -> DiskCache:
    """This process' one cache of a kind, so that its size is not looked at again for every user."""
    return _shared(kind, max_bytes, cache_root())


@functools.cache
def _shared(kind: str, max_bytes: int, root: Path) -> DiskCache:
    return DiskCache(kind, max_bytes=max_bytes)


class DiskCache:
    """Bytes by key, in files of one folder per kind.

    Entries appear whole (written aside, then renamed) and carry a digest: one cut short or altered is a miss.
    When the kind holds more than `max_bytes`, those read longest ago go.
    """

    def __init__(self, kind: str, *, max_bytes: int = MAX_BYTES) -> None:
        self.folder = cache_root() / kind
        self.max_bytes = max_bytes
        self._puts = 0

    def get(self, key: str) -> bytes | None:
        """The bytes last put under the key, or None."""
        path = self.path(key)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        data = entry[_DIGEST_BYTES:]
        if len(entry) < _DIGEST_BYTES or _digest(data) != entry[:_DIGEST_BYTES]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # marks the entry as used, for eviction
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store the bytes; where the folder cannot be written they are not stored, and nothing else happens."""
        with contextlib.suppress(OSError):
            write_atomically(self.path(key), _digest(data) + data)
            if self._puts % _EVICT_EVERY == 0:
                self._evict()
            self._puts += 1

    def path(self, key: str) -> Path:
        """Where the key's entry lies; keys are hashed, so any text will do."""
        name = blake2b(key.encode(errors="surrogatepass"), digest_size=20).hexdigest()
        return self.folder / name[:2] / name[2:]

    def _evict(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.max_bytes:
            return
        for _, size, path in entries:
            with contextlib.suppress(OSError):  # another process may have taken it first
                path.unlink()
            total -= size
            if total <= self.max_bytes * _KEPT_SHARE:
                return

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Last use, size and path of every file of this kind, those of interrupted writes among them."""
        entries = []
        for path in self.folder.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        return entries


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that appears all at once, since another process may be looking; OSError leaves nothing behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:  # an interrupt too must not leave the temporary file
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _digest(data: bytes) -> bytes:
    return sha256(data).digest()[:_DIGEST_BYTES]  # processors have instructions for it: half the time of blake2b
