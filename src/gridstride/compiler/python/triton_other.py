"""Triton's masked loads without `other`: what they give where the mask is false is undefined, and is 0 in its PTX.

Whether a load has an `other` stands in Triton's own code alone (a whole number of 0 looks the same in PTX), with the
place in the source, which the PTX has too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_LOAD = re.compile(r"= tt\.load ([^:]*) : .*loc\(#(loc\d*)\)\s*$", re.MULTILINE)
_LOCATION = re.compile(r"^#(loc\d*) = loc\((.*)\)\s*$", re.MULTILINE)
_PLACE = re.compile(r'^".*":(\d+):(\d+)$')
_INNER = re.compile(r"#(loc\d*)")
_LOC = re.compile(r"\.loc\s+\d+\s+(\d+)\s+(\d+)")
_ZERO = re.compile(r"mov\.[ub]\d+\s+%\w+,\s*0x0;")
_MASKED = 2  # operands of a load: an address and a mask


def loads_without_other(ttir: str) -> tuple[str, ...]:
    """Where Triton's code has masked loads without `other`, "line:column" each; not where others stand, too."""
    locations = dict(_LOCATION.findall(ttir))
    locations_by_kind: dict[bool, set[str]] = {True: set(), False: set()}
    for operands, location in _LOAD.findall(ttir):
        if location_text := _location_text(locations, location):
            locations_by_kind[operands.count("%") == _MASKED].add(location_text)
    return tuple(sorted(locations_by_kind[True] - locations_by_kind[False]))


def _location_text(locations: dict[str, str], name: str) -> str:
    """The line and column that a location leads to: named ones and inlined calls lead to others."""
    for _ in range(len(locations)):
        text = locations.get(name, "")
        if own := _PLACE.match(text):
            return f"{own[1]}:{own[2]}"
        inner = _INNER.search(text)
        if inner is None:
            break
        name = inner[1]
    return ""


def undefined_where_masked(ptx: str, locations: Collection[str]) -> str:
    """The PTX with nothing in the registers of these loads where their mask is false."""
    return "".join(_without_zeros(ptx, frozenset(locations))) if locations else ptx


def _without_zeros(ptx: str, locations: frozenset[str]) -> Iterator[str]:
    inside, location_text = False, ""
    for line in ptx.splitlines(keepends=True):
        words = line.strip()
        if words in ("// begin inline asm", "// end inline asm"):
            inside = words.startswith("// begin")
        elif located := _LOC.match(words):
            location_text = f"{located[1]}:{located[2]}"
        if not (inside and location_text in locations and _ZERO.fullmatch(words)):
            yield line
