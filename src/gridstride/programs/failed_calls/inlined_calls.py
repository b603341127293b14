"""Calls that the compiler has inlined: .debug_info has the line of each, and the code that came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gridstride.programs.failed_calls.dwarf import VERSION, DwarfReader

_INLINED, _UNIT = 0x1D, 0x11  # DW_TAG_inlined_subroutine, DW_TAG_compile_unit
_LOW, _HIGH, _RANGES, _LINES, _CALL_FILE, _CALL_LINE = 0x11, 0x12, 0x55, 0x10, 0x58, 0x59
_ADDRESS_FORM = 0x01
_FIXED = {
    0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 4, 0x10: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8,
    0x17: 4, 0x19: 0, 0x20: 8,
}  # fmt: skip
"""Bytes of the forms of attributes that have so many."""
_BASE = (1 << 64) - 1

Attributes = dict[int, tuple[int, int]]
"""Of an entry: form and value by the attribute's number."""


@dataclass(frozen=True, slots=True)
class InlinedCall:
    """`unit`: where its line table begins, of whose files `file` is one."""

    ranges: tuple[tuple[int, int], ...]
    unit: int
    file: int
    line: int
    depth: int

    def covers(self, address: int) -> bool:
        """Whether the code at an address came of it."""
        return any(low <= address < high for low, high in self.ranges)


def inlined_calls(parts: Mapping[str, bytes]) -> list[InlinedCall]:
    """Of all units; `parts` are the sections by name."""
    info, at = parts.get(".debug_info", b""), 0
    result: list[InlinedCall] = []
    while at + 11 <= len(info):
        end = at + 4 + int.from_bytes(info[at : at + 4], "little")
        cursor = DwarfReader(info[:end], at + 4)
        if cursor.unsigned(2) == VERSION:
            result += _of_unit(cursor, parts)
        at = end
    return result


def _of_unit(cursor: DwarfReader, parts: Mapping[str, bytes]) -> Iterator[InlinedCall]:
    kinds = _abbreviations(parts.get(".debug_abbrev", b""), cursor.unsigned(4))
    cursor.unsigned(1)
    ranges, base, unit, depth = parts.get(".debug_ranges", b""), 0, 0, 0
    while cursor.at < len(cursor.data):
        code = cursor.leb()
        if code == 0:
            depth -= 1
            continue
        tag, children, specification = kinds[code]
        values: Attributes = {name: (form, _value(cursor, form)) for name, form in specification}
        if tag == _UNIT:
            base, unit = values.get(_LOW, (0, 0))[1], values.get(_LINES, (0, 0))[1]
        elif tag == _INLINED:
            where = tuple(_where(values, ranges, base))
            yield InlinedCall(where, unit, values.get(_CALL_FILE, (0, 0))[1], values.get(_CALL_LINE, (0, 0))[1], depth)
        depth += children


def _where(values: Attributes, ranges: bytes, base: int) -> Iterator[tuple[int, int]]:
    if _LOW in values and _HIGH in values:
        low, (form, high) = values[_LOW][1], values[_HIGH]
        yield low, high if form == _ADDRESS_FORM else low + high
    elif _RANGES in values:
        cursor = DwarfReader(ranges, values[_RANGES][1])
        while (pair := (cursor.unsigned(8), cursor.unsigned(8))) != (0, 0):
            if pair[0] == _BASE:
                base = pair[1]
            else:
                yield base + pair[0], base + pair[1]


def _abbreviations(section: bytes, at: int) -> dict[int, tuple[int, int, list[tuple[int, int]]]]:
    """Tag, whether there are children, and attributes with their forms."""
    cursor, result = DwarfReader(section, at), {}
    while code := cursor.leb():
        tag, children, attributes = cursor.leb(), cursor.unsigned(1), []
        while (pair := (cursor.leb(), cursor.leb())) != (0, 0):
            attributes.append(pair)
        result[code] = (tag, children, attributes)
    return result


def _value(cursor: DwarfReader, form: int) -> int:
    if form in _FIXED:
        return cursor.unsigned(_FIXED[form])
    if form == 0x08:
        cursor.text()
        return 0
    if form in (0x09, 0x0A, 0x18):  # blocks and expressions
        length = cursor.unsigned(1) if form == 0x0A else cursor.leb()
        cursor.at += length
        return 0
    return cursor.leb(signed=form == 0x0D)
