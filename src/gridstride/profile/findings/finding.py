"""What is said of a program's time: what costs, the evidence, what to do, and what it can win at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`gain` is the share of the wall time that would be gone at most; `line` the program's own, where it is known."""

    kind: str
    title: str
    evidence: tuple[str, ...]
    remedy: str
    gain: float
    line: str | None = None
    ladder: str | None = None


def many(count: int, one: str, more: str = "") -> str:
    """A count with its noun: "1 copy", "1,400 copies"."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
