"""PTX out of the fat binaries that nvcc puts into objects, as they lie in memory."""

from __future__ import annotations

import ctypes
import re
import struct

_MAGIC = 0xBA55ED50
_HEADER = struct.Struct("<IHHQ")
"""Magic, version, bytes of the header, bytes of all entries."""
_ENTRY = struct.Struct("<HHIQ")
"""Kind, version, bytes of this header, bytes of what follows it."""
_PTX = 1
_COMPRESSED = 0x2000
_FLAGS_AT = 40
_REST = struct.Struct("<IIHHIQQ16x")
"""Of an entry's header: nothing, its bytes, minor and major version of the PTX, its target, nothing, flags."""
_64_BIT_LINUX = 0x11
_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)
_MAGIC_BYTES = struct.pack("<IH", _MAGIC, 1)
_PLACE = re.compile(r"\s*(?:\.loc|\.file|\$L__(?:func|tmp)\w*:|//)")
"""Lines of PTX that say which line of the source an instruction is of."""


class NoPtx(ValueError):
    """A fat binary without readable PTX."""


def ptx_at(address: int) -> str:
    """The PTX of the fat binary at an address; of several the last one, which nvcc puts in order; NoPtx."""
    magic, _, header, length = _HEADER.unpack(ctypes.string_at(address, _HEADER.size))
    if magic != _MAGIC:
        raise NoPtx(f"what the program registers as device code is no fat binary (it begins with {magic:#x})")
    return ptx_in(ctypes.string_at(address + header, length))


def is_fat_binary(head: bytes) -> bool:
    """Whether an image begins as one does."""
    return head[:4] == _MAGIC_BYTES[:4]


def fat_binary(ptx: str) -> bytes:
    """A fat binary with this PTX, as nvcc's `-fatbin -no-compress` writes it: for cuModuleLoadData and its like."""
    version, target = _VERSION.search(ptx), _TARGET.search(ptx)
    major, minor = (int(version[1]), int(version[2])) if version else (0, 0)
    text = ptx.encode() + b"\0"
    text += b"\0" * (-len(text) % 8)
    header = _ENTRY.size + _REST.size
    entry = _ENTRY.pack(_PTX, 0x101, header, len(text))
    entry += _REST.pack(0, header, minor, major, int(target[1]) if target else 0, 0, _64_BIT_LINUX)
    return _HEADER.pack(_MAGIC, 1, _HEADER.size, len(entry) + len(text)) + entry + text


def ptx_in_object(data: bytes) -> list[str]:
    """The PTX of every fat binary in an object or a program, as it is; NoPtx."""
    texts, at = [], data.find(_MAGIC_BYTES)
    while at >= 0:
        _, _, header, length = _HEADER.unpack_from(data.ljust(at + _HEADER.size, b"\0"), at)
        if 0 < length <= len(data) - at - header:
            texts.append(ptx_in(data[at + header : at + header + length]))
        at = data.find(_MAGIC_BYTES, at + 1)
    if not texts:
        raise NoPtx("the program has no kernels")
    return texts


def ptx_of(program: bytes) -> list[str]:
    """The PTX of every fat binary in a linked program, without what names lines of the source; NoPtx."""
    return [_without_places(text) for text in ptx_in_object(program)]


def _without_places(ptx: str) -> str:
    text, _, _ = ptx.partition("\t.section")
    return "".join(line for line in text.splitlines(keepends=True) if not _PLACE.match(line)).strip() + "\n"


def ptx_in(entries: bytes) -> str:
    """The same of the entries of a fat binary."""
    best, at = None, 0
    while at + _ENTRY.size <= len(entries):
        kind, _, header, length = _ENTRY.unpack_from(entries, at)
        if header < _ENTRY.size:
            break
        if kind == _PTX:
            flags = struct.unpack_from("<Q", entries, at + _FLAGS_AT)[0] if header >= _FLAGS_AT + 8 else 0
            if flags & _COMPRESSED:
                raise NoPtx("the PTX is compressed: compile with -no-compress")
            best = entries[at + header : at + header + length]
        at += header + length
    if best is None:
        raise NoPtx("there is no PTX in the program's device code, only machine code of a GPU")
    return best.rstrip(b"\0").decode("utf-8", "replace")
