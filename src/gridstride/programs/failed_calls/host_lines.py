"""The source line of an address in a loaded file, and the lines of the calls that were inlined there."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from gridstride.programs.failed_calls.dwarf import VERSION, DwarfReader, sections
from gridstride.programs.failed_calls.inlined_calls import inlined_calls

_NO_ARGUMENTS = frozenset({1, 6, 7, 10, 11})  # standard opcodes: copy, negate, basic block, prologue, epilogue


@dataclass(frozen=True, slots=True)
class HostLine:
    """Where code comes from."""

    file: str
    line: int


class HostLines:
    """The line table of an ELF file; empty where it has none."""

    def __init__(self, data: bytes) -> None:
        parts = sections(data)
        rows: set[tuple[int, int, str, int]] = set()
        files: dict[int, _Header] = {}
        for start, cursor in _units(parts.get(".debug_line", b"")):
            table = files[start] = _Header(cursor)
            rows.update(table.rows())
        self._rows = sorted(rows)
        self._addresses = [address for address, *_ in self._rows]
        self._inlined = [(call, files[call.unit].files) for call in inlined_calls(parts) if call.unit in files]

    def at(self, address: int) -> list[HostLine]:
        """Of an address as the file counts them: its line, then that of the call it was inlined by, and so outwards."""
        index = bisect.bisect_right(self._addresses, address) - 1
        lines = []
        if index >= 0:
            _, goes_on, file, line = self._rows[index]
            lines = [HostLine(file, line)] if goes_on and line else []
        around = [(call, files) for call, files in self._inlined if call.covers(address)]
        around.sort(key=lambda pair: -pair[0].depth)
        return lines + [HostLine(files[call.file], call.line) for call, files in around if call.file < len(files)]


def _units(section: bytes) -> Iterator[tuple[int, DwarfReader]]:
    """Where each unit's table begins, and a cursor behind its version."""
    at = 0
    while at + 4 <= len(section):
        length = int.from_bytes(section[at : at + 4], "little")
        end = at + 4 + length
        if int.from_bytes(section[at + 4 : at + 6], "little") == VERSION:
            yield at, DwarfReader(section[:end], at + 6)
        at = end


class _Header:
    """Of one unit's table: its files, and the program that makes its rows."""

    def __init__(self, cursor: DwarfReader) -> None:
        self._cursor = cursor
        self._program = cursor.unsigned(4) + cursor.at
        self._minimum, _, _ = cursor.unsigned(1), cursor.unsigned(1), cursor.unsigned(1)
        base, self._range, self._first = cursor.unsigned(1), cursor.unsigned(1), cursor.unsigned(1)
        self._base = base - 256 if base > 127 else base
        self._lengths = [cursor.unsigned(1) for _ in range(self._first - 1)]
        folders = [""]
        while folder := cursor.text():
            folders.append(folder)
        self.files = [""]
        while name := cursor.text():
            folder = folders[cursor.leb()]
            self.files.append(f"{folder}/{name}" if folder and not name.startswith("/") else name)
            cursor.leb(), cursor.leb()

    def rows(self) -> Iterator[tuple[int, int, str, int]]:
        """Address, whether code goes on there (0 at a sequence's end), file and line; line 0 where none is known."""
        cursor = self._cursor
        cursor.at = self._program
        address, file, line = 0, 1, 1
        while cursor.at < len(cursor.data):
            opcode = cursor.unsigned(1)
            if opcode >= self._first:
                step, more = divmod(opcode - self._first, self._range)
                address, line = address + step * self._minimum, line + self._base + more
                yield address, 1, self.files[file], line
            elif opcode == 0:
                instruction_end = cursor.leb() + cursor.at
                kind = cursor.unsigned(1)
                if kind == 1:
                    yield address, 0, "", 0
                    address, file, line = 0, 1, 1
                elif kind == 2:
                    address = cursor.unsigned(instruction_end - cursor.at)
                cursor.at = instruction_end
            elif opcode == 1:
                yield address, 1, self.files[file], line
            elif opcode == 2:
                address += cursor.leb() * self._minimum
            elif opcode == 3:
                line += cursor.leb(signed=True)
            elif opcode == 4:
                file = cursor.leb()
            elif opcode == 8:
                address += (255 - self._first) // self._range * self._minimum
            elif opcode == 9:
                address += cursor.unsigned(2)
            elif opcode not in _NO_ARGUMENTS:
                for _ in range(self._lengths[opcode - 1]):
                    cursor.leb()
