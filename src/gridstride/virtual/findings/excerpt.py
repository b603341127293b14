"""The lines of source that a finding is about, as compilers show them."""

from __future__ import annotations

import linecache

AROUND = 2
"""Lines shown before and after."""


def excerpt(file: str | None, line: int | None, source: str | None) -> str | None:
    """The line with a mark and those around it; None where nobody has the text.

    `source` is the kernel's text where it has one. Without it, `file` is looked for on the disk.
    """
    lines = source.splitlines() if source is not None else linecache.getlines(file) if file else []
    if line is None or not 1 <= line <= len(lines):
        return None
    first, last = max(1, line - AROUND), min(len(lines), line + AROUND)
    shown = [f"{'>' if n == line else ' '} {n:>4} | {lines[n - 1].rstrip()}" for n in range(first, last + 1)]
    return "\n".join(text.rstrip() for text in shown)
