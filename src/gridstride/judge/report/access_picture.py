"""One access of a warp as a picture: the bytes that its lanes touch in memory, or the banks that they meet in."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from gridstride.judge.access_map import Access
from gridstride.judge.report.svg import drawing, tag

_WIDTH = 1180
_LEFT, _CELL, _HEIGHT = 150, 26, 15
_WORD, _SECTOR, _LINE = 4, 32, 128  # bytes
_BANKS = 32
_FEW = 12  # rows that are drawn; of more, which look alike, the rest is told


def picture(access: Access) -> Markup:
    """Memory line by line, or shared memory bank by bank."""
    return _banks(access) if access.space == "shared" else _memory(access)


def told(access: Access) -> str:
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


def _memory(access: Access) -> Markup:
    """A row for each line of 128 bytes; sectors that are fetched are pale, words that lanes want dark."""
    lanes: dict[int, list[int]] = {}
    for lane, address in enumerate(access.addresses):
        for byte in range(address, address + access.bytes, _WORD) if address is not None else ():
            lanes.setdefault(byte // _WORD, []).append(lane)
    lines = sorted({sector * _SECTOR // _LINE for sector in access.sectors})
    parts = [tag("text", "byte", x=_LEFT - 12, y=12, text_anchor="end", class_="note")]
    parts += [tag("text", str(_WORD * i), x=_LEFT + _CELL * i, y=12, class_="note") for i in range(0, _BANKS, 8)]
    for row, line in enumerate(lines[:_FEW]):
        parts.append(_label(row, f"+{line * _LINE:,}"))
        for sector in range(line * 4, line * 4 + 4):
            kind = "fetched" if sector in access.sectors else "slot"
            parts.append(_box(row, sector % 4 * 8, 8, kind))
        words = range(line * _BANKS, line * _BANKS + _BANKS)
        parts += [_lane(row, word % _BANKS, lanes[word]) for word in words if word in lanes]
    return _drawn(access, parts, len(lines), "lines of 128 bytes, each as thinly used")


def _banks(access: Access) -> Markup:
    """A column for each bank; lanes that want different words of it stand below each other, one pass for each."""
    columns: dict[int, dict[int, list[int]]] = {}
    for lane, address in enumerate(access.addresses):
        if address is not None:
            columns.setdefault(address // _WORD % _BANKS, {}).setdefault(address // _WORD, []).append(lane)
    rows = max(map(len, columns.values()))
    parts = [tag("text", "bank", x=_LEFT - 12, y=12, text_anchor="end", class_="note")]
    parts += [tag("text", str(i), x=_LEFT + _CELL * (i + 0.5), y=12, text_anchor="middle", class_="note")
              for i in range(_BANKS)]  # fmt: skip
    for row in range(min(rows, _FEW)):
        parts.append(_label(row, f"pass {row + 1}"))
        parts += [_box(row, bank, 1, "slot") for bank in range(_BANKS)]
        parts += [
            _lane(row, bank, list(words.values())[row]) for bank, words in sorted(columns.items()) if len(words) > row
        ]
    return _drawn(access, parts, rows, "passes like these")


def _drawn(access: Access, parts: Iterable[Markup], rows: int, what: str) -> Markup:
    shown = min(rows, _FEW)
    height = 20 + shown * (_HEIGHT + 3)
    more = []
    if rows > shown:
        note = f"and {rows - shown} more {what}"
        more = [tag("text", note, x=_LEFT, y=height + 14, class_="note")]
    return drawing(_WIDTH, height + (22 if more else 4), f"Line {access.line} {told(access)}", *parts, *more)


def _label(row: int, text: str) -> Markup:
    return tag("text", text, x=_LEFT - 12, y=20 + row * (_HEIGHT + 3) + 12, text_anchor="end", class_="note")


def _box(row: int, column: int, cells: int, kind: str) -> Markup:
    return tag("rect", x=_LEFT + column * _CELL + 1, y=20 + row * (_HEIGHT + 3), width=cells * _CELL - 2,
               height=_HEIGHT, class_=kind)  # fmt: skip


def _lane(row: int, column: int, lanes: list[int]) -> Markup:
    """A cell with its lane, or with how many lanes want the same word."""
    shown = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
    x, y = _LEFT + column * _CELL, 20 + row * (_HEIGHT + 3)
    return tag(
        "g",
        tag("rect", x=x + 2, y=y + 1, width=_CELL - 4, height=_HEIGHT - 2, class_="bar"),
        tag("text", shown, x=x + _CELL / 2, y=y + 11.5, text_anchor="middle", class_="inside"),
    )


def _times(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
