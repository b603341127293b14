"""PTX out of fat binaries."""

from __future__ import annotations

import ctypes
import struct

import pytest

from gridstride.programs.calls.fat_binary import NoPtx, ptx_at, ptx_in, ptx_of


def entry(kind: int, text: bytes, *, flags: int = 0) -> bytes:
    head = struct.pack("<HHIQ", kind, 0x101, 64, len(text)).ljust(40, b"\0") + struct.pack("<Q", flags)
    return head.ljust(64, b"\0") + text


def test_the_last_ptx_is_taken_and_machine_code_passed_over() -> None:
    assert ptx_in(entry(2, b"elf") + entry(1, b"first\0") + entry(1, b"second\0\0") + entry(2, b"elf")) == "second"


def test_machine_code_alone_is_refused() -> None:
    with pytest.raises(NoPtx, match="only machine code"):
        ptx_in(entry(2, b"elf"))


def test_compressed_ptx_is_refused_with_the_way_out() -> None:
    with pytest.raises(NoPtx, match="-no-compress"):
        ptx_in(entry(1, b"xyz", flags=0x2000))


def test_other_bytes_are_no_fat_binary() -> None:
    wrong = ctypes.create_string_buffer(b"nothing of the kind" * 4)
    with pytest.raises(NoPtx, match="no fat binary"):
        ptx_at(ctypes.addressof(wrong))


def test_a_linked_programs_ptx_is_shown_without_the_places_of_its_lines() -> None:
    ptx = '.version 8.0\n.entry k()\n{\n\t.loc\t1 2 3\n\tret;\n\n}\n\t.file\t1 "k.cu"\n\t.section\t.debug_str\n{\n}\n'
    one = entry(1, ptx.encode() + b"\0")
    program = b"\x7fELF" + bytes(12) + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(one)) + one + bytes(40)
    assert ptx_of(program) == [".version 8.0\n.entry k()\n{\n\tret;\n\n}\n"]


def test_a_program_without_kernels_has_no_ptx() -> None:
    with pytest.raises(NoPtx, match="no kernels"):
        ptx_of(b"\x7fELF" + bytes(100))
