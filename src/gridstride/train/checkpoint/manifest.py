"""The list of what a complete checkpoint holds: it is written last, and read before anything else is believed."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridstride.train.errors import TrainError

NAME = "manifest.json"
FORMAT, VERSION = "gridstride-checkpoint", 1
_PIECE = 1 << 22  # bytes read at once


class CheckpointError(TrainError):
    """A checkpoint that cannot be written or read; the message names it and the way out."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a checkpoint as it was when it was complete."""

    bytes: int
    crc32: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a checkpoint says of itself: `meta` is the run's own state, `own` each rank's, in the order of ranks."""

    step: int
    ranks: int
    meta: dict[str, Any]
    own: list[Any]
    files: dict[str, File]

    @property
    def bytes(self) -> int:
        """Size of all files but the manifest."""
        return sum(file.bytes for file in self.files.values())


def measure(file: Path) -> File:
    """Size and checksum of a file as it lies on the disk."""
    size = check = 0
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            size, check = size + len(piece), zlib.crc32(piece, check)
    return File(size, check)


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into a folder and make both last (fsync)."""
    body = asdict(manifest)
    document = {"format": FORMAT, "version": VERSION, "crc32": _check(body), "body": body}
    with (folder / NAME).open("w") as stream:
        json.dump(document, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    make_last(folder)


def make_last(folder: Path) -> None:
    """What was created, renamed or deleted in a folder survives a power failure from here on."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(folder: Path) -> Manifest:
    """The manifest of a folder, believed only where every file has the size it should; raises CheckpointError."""
    body = _body(folder)
    try:
        files = {name: File(**file) for name, file in body.pop("files").items()}
        manifest = Manifest(**body, files=files)
    except (TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{folder} is not a checkpoint that can be read: its {NAME} lacks {error}") from error
    for name, file in files.items():
        _check_size(folder / name, file)
    return manifest


def verify(folder: Path, files: dict[str, File]) -> None:
    """Read the files and compare their checksums; raises CheckpointError with the first that differs."""
    for name, file in files.items():
        if measure(folder / name) != file:
            raise CheckpointError(f"{folder / name} is damaged: its checksum is not the one it was saved with")


def exact(name: str, value: Any) -> None:
    """Refuse what JSON would not give back exactly as it is (tuples, NumPy numbers, keys that are no strings)."""
    if isinstance(value, dict):
        for key, item in value.items():
            exact(f"{name}[{key!r}]", item)
    try:
        same = repr(json.loads(json.dumps(value))) == repr(value)
    except (TypeError, ValueError):
        same = False
    if not same:
        raise CheckpointError(
            f"{name} = {repr(value)[:80]} cannot be kept exactly: give numbers, text, lists and dicts of them"
        )


def _body(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / NAME).read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{folder} is no checkpoint of this program: it has no {NAME}") from None
    except ValueError as error:
        raise CheckpointError(f"{folder} is damaged: its {NAME} cannot be read ({error})") from None
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read: {error.strerror}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CheckpointError(f"{folder} is no checkpoint of this program: its {NAME} says nothing of {FORMAT}")
    if document.get("version") != VERSION:
        raise CheckpointError(f"{folder} has version {document.get('version')!r}; this program reads version {VERSION}")
    body = document.get("body")
    if not isinstance(body, dict) or document.get("crc32") != _check(body):
        raise CheckpointError(f"{folder} is damaged: its {NAME} was changed after it was written")
    return body


def _check(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _check_size(path: Path, file: File) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} is incomplete: {path.name} is missing") from None
    if size != file.bytes:
        raise CheckpointError(f"{path} is truncated or changed: {size} bytes where {file.bytes} were saved")
