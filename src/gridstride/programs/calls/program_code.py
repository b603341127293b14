"""Code that a program gives while it runs: PTX, fat binaries and objects, kept by number until they are loaded."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gridstride.programs.calls.fat_binary import NoPtx, fat_binary, is_fat_binary, ptx_at, ptx_in_object
from gridstride.programs.calls.status import Status
from gridstride.protocol import LinkError, LinkInput, OutOfDeviceMemory
from gridstride.virtual.errors import UnsupportedInstruction, UnsupportedTarget
from gridstride.virtual.launch.linking import linked
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.syntax_errors import PtxError

UNUSABLE = (PtxError, UnsupportedInstruction, UnsupportedTarget)
"""Device code that the virtual GPU cannot take."""

_ELF = b"\x7fELF"
_WRAPPER = struct.Struct("<IIQ")
_WRAPPER_MAGIC = 0x466243B1
"""fatbinary_section.h: magic, version and the address of the fat binary, as nvcc puts it beside each object's code."""
_LINKED = struct.Struct("<IIQ")
_LINKED_MAGIC = 0x4B4C5347
"""Ours, of what cuLinkComplete gives where it linked several texts: magic, how many, and bytes behind this header."""
_VERSION = re.compile(r"^\s*\.version\b", re.MULTILINE)
_ANY, _PTX, _FAT_BINARY, _OBJECT = range(4)
"""By the number of CODE_ in runtime.h."""
_REGISTERS = 8
"""CODE_REGISTERS."""
_ENTRY = re.compile(r"(\.entry\s+[\w$]+\s*(?:\([^)]*\))?)(?![^{;]*\.maxnreg)")


class NoCode(ValueError):
    """An image that is nothing which could be loaded; `status` is what hardware's driver says of such a one."""

    def __init__(self, message: str, status: Status) -> None:
        super().__init__(message)
        self.status = status


_ERRORS = (NoCode, NoPtx, LinkError, OutOfDeviceMemory, *UNUSABLE)


@dataclass(slots=True)
class ProgramCode:
    """All that a program has given, from any thread."""

    say: Callable[[str], None]
    """A line on stderr."""
    _codes: list[tuple[str, ...]] = field(default_factory=list)
    _images: dict[int, Any] = field(default_factory=dict)

    def pieces(self, number: int) -> list[LinkInput]:
        """The texts that are one module."""
        return [LinkInput(text, "<ptx>") for text in self._codes[number]]

    def code(self, image: int | None, nbytes: int, kind: int, number: Any, log: int | None, room: int) -> int:
        """Keep the code at an address."""
        registers, kind = kind >> _REGISTERS, kind & (1 << _REGISTERS) - 1
        try:
            texts = texts_at(image or 0, nbytes, kind)
            if kind == _PTX:  # for the linker, which looks at once; a module is looked at when it is loaded
                parse(texts[0])
        except _ERRORS as error:
            return self.refused(error, log or 0, room)
        number[0] = self._keep([bounded(text, registers) for text in texts] if registers else texts)
        return Status.SUCCESS

    def link_code(self, numbers: Any, count: int, number: Any, log: int | None, room: int) -> int:
        """Make one of several; what one of them lacks and none has is found here."""
        texts = [text for n in range(count) for text in self._codes[numbers[n]]]
        try:
            linked(tuple(LinkInput(text, "<ptx>") for text in texts))
        except _ERRORS as error:
            return self.refused(error, log or 0, room)
        number[0] = self._keep(texts)
        return Status.SUCCESS

    def code_image(self, number: int, image: Any, nbytes: Any) -> int:
        """Bytes that `code` takes for the same again; they stay."""
        if number not in self._images:
            data = image_of(self._codes[number])
            self._images[number] = (ctypes.create_string_buffer(data, len(data)), len(data))
        buffer, nbytes[0] = self._images[number]
        image[0] = ctypes.addressof(buffer)
        return Status.SUCCESS

    def refused(self, error: Exception, log: int, room: int) -> int:
        """The status of an error in code, and its words for the log; on stderr where there is none."""
        message = log_message(error)
        if room > 0:
            data = message.encode(errors="replace")[: room - 1] + b"\0"
            ctypes.memmove(log, data, len(data))
        else:
            self.say(f"the code that the program gives cannot be loaded: {message}")
        return status_of(error)

    def _keep(self, texts: Sequence[str]) -> int:
        self._codes.append(tuple(texts))
        return len(self._codes) - 1


def bounded(ptx: str, registers: int) -> str:
    """PTX whose kernels have no more registers for a thread, where they say nothing of that themselves."""
    return _ENTRY.sub(rf"\1\n.maxnreg {registers}", ptx)


def texts_at(address: int, nbytes: int, kind: int) -> list[str]:
    """The PTX of an image in memory, whose length may be unknown (0); NoCode, NoPtx."""
    if address == 0:
        raise NoCode("there is no image", Status.INVALID_VALUE)
    head = ctypes.string_at(address, min(4, nbytes) if nbytes else 1)
    if not nbytes and head[:1] in (_ELF[:1], b"\x50", b"\xb1", b"\x47"):
        head = ctypes.string_at(address, 4)
    if head == _ELF:
        return _object_texts(address, nbytes, kind)
    magic = struct.unpack("<I", head)[0] if len(head) == 4 else 0
    if magic == _WRAPPER_MAGIC:
        return texts_at(_WRAPPER.unpack(ctypes.string_at(address, _WRAPPER.size))[2], 0, _FAT_BINARY)
    if magic == _LINKED_MAGIC:
        return _linked_texts(address)
    if is_fat_binary(head):
        return [ptx_at(address)]
    text = (ctypes.string_at(address, nbytes) if nbytes else ctypes.string_at(address)).split(b"\0", 1)[0]
    ptx = text.decode("utf-8", "replace")
    if not _VERSION.search(ptx):
        raise NoCode("this is neither PTX nor a fat binary", Status.INVALID_PTX if kind == _PTX else
                     Status.INVALID_KERNEL_IMAGE)  # fmt: skip
    return [ptx]


def _object_texts(address: int, nbytes: int, kind: int) -> list[str]:
    if kind == _OBJECT and nbytes:
        return ptx_in_object(ctypes.string_at(address, nbytes))
    raise NoCode(
        "this is a cubin, machine code of a GPU, which the virtual GPU cannot run: load PTX or a fat binary with PTX "
        "(gridstride build --ptx, --fatbin)", Status.NO_KERNEL_IMAGE,
    )  # fmt: skip


def _linked_texts(address: int) -> list[str]:
    _, count, length = _LINKED.unpack(ctypes.string_at(address, _LINKED.size))
    texts = ctypes.string_at(address + _LINKED.size, length).split(b"\0")
    return [text.decode("utf-8", "replace") for text in texts[:count]]


def image_of(texts: Sequence[str]) -> bytes:
    """Bytes that are loaded as these texts: a fat binary of one, a form of our own of several."""
    if len(texts) == 1:
        return fat_binary(texts[0])
    data = b"".join(text.encode() + b"\0" for text in texts)
    return _LINKED.pack(_LINKED_MAGIC, len(texts), len(data)) + data


def status_of(error: Exception) -> Status:
    """What the driver says of code that cannot be loaded."""
    if isinstance(error, NoCode):
        return error.status
    if isinstance(error, OutOfDeviceMemory):
        return Status.MEMORY_ALLOCATION
    if isinstance(error, (PtxError, LinkError, UnsupportedTarget)):
        return Status.INVALID_PTX
    return Status.NO_KERNEL_IMAGE


def log_message(error: Exception) -> str:
    """As the assembler in the driver writes it where it is about a line of PTX."""
    if isinstance(error, PtxError):
        return (
            f"ptxas application ptx input, line {error.line}; error   : {error.message}\n"
            "ptxas fatal   : Ptx assembly aborted due to errors"
        )
    return str(error)
