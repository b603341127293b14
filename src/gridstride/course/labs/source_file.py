"""A source file of the user's as bytes or text: never waited for, and read no further than a source goes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gridstride.one_message import OneMessage

MOST_BYTES = 4_000_000
"""A hundred times the largest kernel of the ladders."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UTF_8_MARK = b"\xef\xbb\xbf"


class NoSource(OneMessage, ValueError):
    """What can be no source: a folder, a pipe, a device, too long, or no text. The message names the file and why."""


def read_bytes(file: str | Path, *, most: int = MOST_BYTES) -> bytes:
    """What is in a regular file of at most so many bytes; NoSource, OSError."""
    _check_regular(file, os.stat(file).st_mode)  # opening a device may have an effect of its own
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        _check_regular(file, status.st_mode)  # another one may lie there since
        if status.st_size > most:
            raise _too_long(file, f"{status.st_size:,}", most)
        raw = opened.read(most + 1)
    if len(raw) > most:  # it grows, or is one of /proc, whose size says nothing
        raise _too_long(file, f"at least {len(raw):,}", most)
    return raw


def read_text(file: str | Path) -> str:
    """The same as text, its lines ending with a line feed; NoSource where it is not UTF-8."""
    raw = read_bytes(file)
    if raw.startswith(_UTF_16):
        raise NoSource(f"{file} is UTF-16: save it as UTF-8, which is what the compiler reads")
    if b"\0" in raw:
        raise NoSource(f"{file} is a binary file: source text is needed")
    try:
        text = raw.removeprefix(_UTF_8_MARK).decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NoSource(f"{file} is not UTF-8 text (line {line}): save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_regular(file: str | Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise NoSource(f"{file} is a folder: give the file in it")
    if not stat.S_ISREG(mode):
        raise NoSource(f"{file} is a pipe or a device: write what is in it to a file first")


def _too_long(file: str | Path, size: str, most: int) -> NoSource:
    return NoSource(f"{file} has {size} bytes, more than the {most:,} of a source")
