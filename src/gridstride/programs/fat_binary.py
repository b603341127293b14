"""PTX out of the fat binaries that nvcc puts into objects, as they lie in memory."""

from __future__ import annotations

import ctypes
import struct

_MAGIC = 0xBA55ED50
_HEADER = struct.Struct("<IHHQ")
"""Magic, version, bytes of the header, bytes of all entries."""
_ENTRY = struct.Struct("<HHIQ")
"""Kind, version, bytes of this header, bytes of what follows it."""
_PTX = 1
_COMPRESSED = 0x2000
_FLAGS_AT = 40


class NoPtx(ValueError):
    """A fat binary without readable PTX."""


def ptx_at(address: int) -> str:
    """The PTX of the fat binary at an address; of several the last one, which nvcc puts in order; NoPtx."""
    magic, _, header, length = _HEADER.unpack(ctypes.string_at(address, _HEADER.size))
    if magic != _MAGIC:
        raise NoPtx(f"what the program registers as device code is no fat binary (it begins with {magic:#x})")
    return ptx_in(ctypes.string_at(address + header, length))


def ptx_in(entries: bytes) -> str:
    """The same of the entries of a fat binary."""
    found, at = None, 0
    while at + _ENTRY.size <= len(entries):
        kind, _, header, length = _ENTRY.unpack_from(entries, at)
        if header < _ENTRY.size:
            break
        if kind == _PTX:
            flags = struct.unpack_from("<Q", entries, at + _FLAGS_AT)[0] if header >= _FLAGS_AT + 8 else 0
            if flags & _COMPRESSED:
                raise NoPtx("the PTX is compressed: compile with -no-compress")
            found = entries[at + header : at + header + length]
        at += header + length
    if found is None:
        raise NoPtx("there is no PTX in the program's device code, only machine code of a GPU")
    return found.rstrip(b"\0").decode("utf-8", "replace")
