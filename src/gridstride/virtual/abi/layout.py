"""Layouts of structs in memory that Python and the generated machine code share: where every field lies."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

_NUMPY = {"i8": "u1", "i32": "u4", "i64": "u8", "ptr": "u8"}
SIZES = {"i8": 1, "i32": 4, "i64": 8, "ptr": 8}
"""Bytes of what a field may hold."""


class Layout:
    """A C-like struct given as `name:type` or `name:type[count]` words; types i8, i32, i64, ptr, and `warp*` for a
    pointer to what the layout of that name describes (layout_table.py).
    """

    def __init__(self, name: str, fields: str, *, align: int = 64) -> None:
        self.name = name
        self.offset: dict[str, int] = {}
        self.type: dict[str, str] = {}
        self.count: dict[str, int] = {}
        self.target: dict[str, str] = {}
        """Of a pointer with a known target, the name of the target's layout."""
        end = 0
        for field, kind, count in _fields(fields):
            if kind.endswith("*"):
                self.target[field], kind = kind[:-1], "ptr"
            size = SIZES[kind]
            end = -(-end // size) * size
            self.offset[field], self.type[field], self.count[field] = end, kind, count
            end += size * count
        self.size = -(-end // align) * align

    def dtype(self) -> np.dtype[np.void]:
        """The same struct as a NumPy record dtype."""
        return self._dtype

    @functools.cached_property
    def _dtype(self) -> np.dtype[np.void]:
        formats = [_NUMPY[self.type[f]] if n == 1 else (_NUMPY[self.type[f]], (n,)) for f, n in self.count.items()]
        offsets = list(self.offset.values())
        spec: Any = {"names": list(self.offset), "formats": formats, "offsets": offsets, "itemsize": self.size}
        record: np.dtype[np.void] = np.dtype(spec)
        return record


def _fields(text: str) -> Iterable[tuple[str, str, int]]:
    for word in text.split():
        field, kind = word.split(":")
        kind, _, count = kind.partition("[")
        yield field, kind, int(count.rstrip("]") or 1)
