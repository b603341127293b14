"""Amounts of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_MOST_DIGITS = 19  # more is no memory of anybody's, and no float that can be an int


def memory_size(text: str) -> int:
    """Bytes, or KiB, MiB, GiB, TiB; at least 1. ValueError."""
    match = _AMOUNT.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match and len(match[1]) <= _MOST_DIGITS else 0
    if size < 1:
        raise ValueError(f"{text} is no amount of memory: 500MiB or 4GiB, say")
    return size
