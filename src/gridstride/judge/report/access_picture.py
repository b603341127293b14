"""One access of a warp as a picture: the bytes that its lanes touch in memory, or the banks that they meet in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.report.svg import NARROW, WIDE, drawing, tag

_HEIGHT, _STEP = 15, 18  # pixels of a row, and from one to the next
_WORD, _SECTOR, _LINE = 4, 32, 128  # bytes
_BANKS = 32
_FEW = 12  # lines or passes that are drawn; of more, which look alike, the rest is told


@dataclass(frozen=True, slots=True)
class _Grid:
    """A picture's rows: `across` words in each, `left` pixels for what a row is, `cell` for a word."""

    across: int
    left: int
    cell: int
    width: int

    def x(self, word: float) -> float:
        """Where a word of its line, or a bank, begins."""
        return self.left + word % self.across * self.cell

    def y(self, line: int, word: int = 0) -> int:
        """Where the row of a line's word is; a line may take two."""
        return 20 + (line * self.rows + word // self.across) * _STEP

    @property
    def rows(self) -> int:
        """Rows for a line of memory, or for all banks."""
        return _BANKS // self.across


_WIDE_GRID, _NARROW_GRID = _Grid(32, 150, 26, WIDE), _Grid(16, 84, 16, NARROW)


def picture(access: WarpAccess, width: int = WIDE) -> Markup:
    """Memory line by line, or shared memory bank by bank; where it is narrow, in half lines."""
    grid = _WIDE_GRID if width == WIDE else _NARROW_GRID
    return _banks(access, grid) if access.space == "shared" else _memory(access, grid)


def access_summary(access: WarpAccess) -> str:
    """The same in a sentence."""
    way, lanes = "writes" if access.writes else "reads", len(access.on)
    who = f"{lanes} lanes, {access.bytes} bytes each" if lanes > 1 else f"one lane, {access.bytes} bytes"
    if access.space == "shared":
        needed = -(-len(set(access.on)) * access.bytes // _LINE)
        worst = max(map(len, access.banks().values()))
        extra = "" if access.passes <= max(1, needed) else f"; up to {worst} lanes want different words of one bank"
        return f"{way} shared memory ({who}) in {_times(access.passes, 'pass', 'passes')} over the banks{extra}"
    touched = len({byte // _WORD for a in access.on for byte in range(a, a + access.bytes, _WORD)}) * _WORD
    where = f" of {access.array}" if access.array else ""
    fetched = len(access.sectors) * _SECTOR
    return (
        f"{way} global memory{where} ({who}): {_times(len(access.sectors), 'sector', 'sectors')} of 32 bytes, of whose "
        f"{fetched} bytes {touched} are used"
    )


def _memory(access: WarpAccess, grid: _Grid) -> Markup:
    """A row for each line of 128 bytes; sectors that are fetched are pale, words that lanes want dark."""
    lanes: dict[int, list[int]] = {}
    for lane, address in enumerate(access.addresses):
        for byte in range(address, address + access.bytes, _WORD) if address is not None else ():
            lanes.setdefault(byte // _WORD, []).append(lane)
    lines = sorted({sector * _SECTOR // _LINE for sector in access.sectors})
    parts = [tag("text", "byte", x=grid.left - 12, y=12, text_anchor="end", class_="note")]
    parts += [tag("text", str(_WORD * i), x=grid.x(i), y=12, class_="note") for i in range(0, grid.across, 8)]
    for row, line in enumerate(lines[:_FEW]):
        parts.append(_label(grid, row, f"+{line * _LINE:,}"))
        for sector in range(line * 4, line * 4 + 4):
            kind = "fetched" if sector in access.sectors else "slot"
            parts.append(_box(grid, row, sector % 4 * 8, 8, kind))
        words = range(line * _BANKS, line * _BANKS + _BANKS)
        parts += [_lane(grid, row, word % _BANKS, lanes[word]) for word in words if word in lanes]
    return _drawn(access, grid, parts, len(lines), "lines of 128 bytes as thinly used")


def _banks(access: WarpAccess, grid: _Grid) -> Markup:
    """A column for each bank; lanes that want different words of it stand below each other, one pass for each."""
    columns: dict[int, dict[int, list[int]]] = {}
    for lane, address in enumerate(access.addresses):
        if address is not None:
            columns.setdefault(address // _WORD % _BANKS, {}).setdefault(address // _WORD, []).append(lane)
    rows = max(map(len, columns.values()))
    parts = [tag("text", "bank", x=grid.left - 12, y=12, text_anchor="end", class_="note")]
    parts += [tag("text", str(i), x=grid.x(i) + grid.cell / 2, y=12, text_anchor="middle", class_="note")
              for i in range(0, grid.across, grid.rows)]  # fmt: skip
    for row in range(min(rows, _FEW)):
        parts.append(_label(grid, row, f"pass {row + 1}"))
        parts += [_label(grid, row, f"+{bank}", bank) for bank in range(grid.across, _BANKS, grid.across)]
        parts += [_box(grid, row, bank, 1, "slot") for bank in range(_BANKS)]
        parts += [
            _lane(grid, row, bank, list(words.values())[row])
            for bank, words in sorted(columns.items())
            if len(words) > row
        ]
    return _drawn(access, grid, parts, rows, "passes like these")


def _drawn(access: WarpAccess, grid: _Grid, parts: Iterable[Markup], rows: int, what: str) -> Markup:
    shown = min(rows, _FEW)
    height = grid.y(shown)
    more = []
    if rows > shown:
        note = f"and {rows - shown} more {what}"
        more = [tag("text", note, x=grid.left if grid.width == WIDE else 0, y=height + 14, class_="note")]
    return drawing(
        grid.width, height + (22 if more else 4), f"Line {access.line} {access_summary(access)}", *parts, *more
    )


def _label(grid: _Grid, row: int, text: str, word: int = 0) -> Markup:
    return tag("text", text, x=grid.left - 12, y=grid.y(row, word) + 12, text_anchor="end", class_="note")


def _box(grid: _Grid, row: int, word: int, cells: int, kind: str) -> Markup:
    return tag("rect", x=grid.x(word) + 1, y=grid.y(row, word), width=cells * grid.cell - 2, height=_HEIGHT,
               class_=kind)  # fmt: skip


def _lane(grid: _Grid, row: int, word: int, lanes: list[int]) -> Markup:
    """A cell with its lane, or with how many lanes want the same word."""
    shown = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
    x, y, inset = grid.x(word), grid.y(row, word), 2 if grid.across == _BANKS else 1
    return tag(
        "g",
        tag("rect", x=x + inset, y=y + 1, width=grid.cell - 2 * inset, height=_HEIGHT - 2, class_="bar"),
        tag("text", shown, x=x + grid.cell / 2, y=y + 11.5, text_anchor="middle", class_="inside"),
    )


def _times(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"
