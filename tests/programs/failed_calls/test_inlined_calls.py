from __future__ import annotations

import struct

from gridstride.programs.failed_calls.inlined_calls import InlinedCall, inlined_calls

_ABBREVIATIONS = bytes([
    1, 0x11, 1, 0x11, 0x01, 0x10, 0x17, 0, 0,  # a unit: low_pc, stmt_list
    2, 0x1D, 1, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0B, 0x59, 0x05, 0, 0,  # inlined: low_pc, high_pc, call_file, call_line
    3, 0x1D, 0, 0x55, 0x17, 0x58, 0x0B, 0x59, 0x0B, 0, 0,  # inlined: ranges, call_file, call_line
    0,
])  # fmt: skip


def parts() -> dict[str, bytes]:
    """A unit at 0x1000 with one inlined call in another, whose code lies in two places."""
    entries = b"".join([
        b"\1", struct.pack("<QI", 0x1000, 0x20),
        b"\2", struct.pack("<QIBH", 0x1010, 0x10, 2, 300),
        b"\3", struct.pack("<IBB", 0, 1, 7), b"\0", b"\0",
    ])  # fmt: skip
    unit = struct.pack("<HIB", 4, 0, 8) + entries
    info = struct.pack("<I", len(unit)) + unit
    ranges = struct.pack("<6Q", 0x12, 0x14, 0x18, 0x1A, 0, 0)
    return {".debug_info": info, ".debug_abbrev": _ABBREVIATIONS, ".debug_ranges": ranges}


def test_each_call_has_its_code_its_line_and_how_deep_it_lies() -> None:
    assert inlined_calls(parts()) == [
        InlinedCall(((0x1010, 0x1020),), unit=0x20, file=2, line=300, depth=1),
        InlinedCall(((0x1012, 0x1014), (0x1018, 0x101A)), unit=0x20, file=1, line=7, depth=2),
    ]


def test_a_call_covers_its_own_code() -> None:
    _, inner = inlined_calls(parts())
    assert [inner.covers(address) for address in (0x1012, 0x1014, 0x1019)] == [True, False, True]


def test_a_file_without_debugging_sections_has_none() -> None:
    assert inlined_calls({}) == []
