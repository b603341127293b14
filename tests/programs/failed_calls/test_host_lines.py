from __future__ import annotations

import struct

import pytest

from gridstride.programs.failed_calls.host_lines import HostLine, HostLines

_LENGTHS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
_PROGRAM = b"".join([
    b"\x00\x09\x02" + (0x100).to_bytes(8, "little"),  # from here
    b"\x03\x06\x01",  # line 7
    b"\x02\x04" + b"\x04\x02\x03\xdd\x00\x01",  # 4 bytes on: the second file, line 100
    b"\x02\x04" + b"\x04\x01\x03\xa5\x7f\x01",  # 4 on: the first, line 9
    b"\x02\x04" + b"\x03\x77\x01",  # 4 on: line 0
    b"\x02\x04" + b"\x00\x01\x01",  # and 4 on it ends
])  # fmt: skip


def object_file() -> bytes:
    """An ELF file with a line table of DWARF 4, and nothing else."""
    tables = bytes([1, 1, 1, 0xFB, 14, 13]) + _LENGTHS + b"include\0\0" + b"a.cu\0\0\0\0" + b"b.h\0\1\0\0" + b"\0"
    unit = struct.pack("<HI", 4, len(tables)) + tables + _PROGRAM
    line = struct.pack("<I", len(unit)) + unit
    names = b"\0.debug_line\0.shstrtab\0"
    sections = 64 + len(line) + len(names)
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    header[40:48] = sections.to_bytes(8, "little")
    header[58:64] = struct.pack("<HHH", 64, 3, 2)
    rows = [(0, 0, 0), (1, 64, len(line)), (13, 64 + len(line), len(names))]
    table = b"".join(struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, at, size, 0, 0, 1, 0) for name, at, size in rows)
    return bytes(header) + line + names + table


def test_an_address_is_of_the_last_line_that_began_before_it() -> None:
    lines = HostLines(object_file())
    assert [lines.at(address) for address in (0x100, 0x103, 0x104, 0x108)] == [
        [HostLine("a.cu", 7)], [HostLine("a.cu", 7)], [HostLine("include/b.h", 100)], [HostLine("a.cu", 9)],
    ]  # fmt: skip


@pytest.mark.parametrize("address", [0xFF, 0x10C, 0x110])
def test_no_line_is_known_outside_or_of_what_the_compiler_made_up(address: int) -> None:
    assert HostLines(object_file()).at(address) == []


def test_what_is_no_elf_file_has_no_lines() -> None:
    assert HostLines(b"#!/bin/sh\n").at(0x100) == []
