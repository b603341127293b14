"""What the debugging sections of an ELF file are read with (DWARF 4)."""

from __future__ import annotations

import struct

_ELF = b"\x7fELF\x02"
_SECTION = struct.Struct("<IIQQQQIIQQ")
VERSION = 4


def sections(data: bytes) -> dict[str, bytes]:
    """By name; none of what is no ELF file of 64 bits."""
    if not data.startswith(_ELF):
        return {}
    (first,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [_SECTION.unpack_from(data, first + number * size) for number in range(count)]
    texts = headers[names][4] if headers else 0
    result = {}
    for word, kind, _, _, offset, length, *_ in headers:
        end = data.index(b"\0", texts + word)
        name = data[texts + word : end].decode(errors="replace")
        result[name] = b"" if kind == 8 else data[offset : offset + length]  # 8: no bits in the file
    return result


class DwarfReader:
    """Reads numbers and texts one behind the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def unsigned(self, size: int) -> int:
        """So many bytes, the lowest first."""
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self, *, signed: bool = False) -> int:
        """A number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        """Up to a zero."""
        end = self.data.index(b"\0", self.at)
        word, self.at = self.data[self.at : end], end + 1
        return word.decode(errors="replace")
