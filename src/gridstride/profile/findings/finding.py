"""What is said of a program's time: what costs, the evidence, what to do, and what it can win at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProfileFinding:
    """`gain` is the share of the wall time that would be gone at most; `line` the program's own, where it is known."""

    kind: str
    title: str
    evidence: tuple[str, ...]
    remedy: str
    gain: float
    line: str | None = None
    ladder: str | None = None


def many(count: int, singular: str, plural: str = "") -> str:
    """A count with its noun: "1 copy", "1,400 copies"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def spoken(operator: str) -> str:
    """An operator as it stands in a program."""
    spoken_names = {"aten::item": ".item()", "aten::_local_scalar_dense": ".item()", "aten::is_nonzero": "`if tensor:`",
             "aten::to": ".to() or .cpu()", "aten::copy_": "a copy", "aten::nonzero": "nonzero()"}  # fmt: skip
    return spoken_names.get(operator, operator)


def sentence(text: str) -> str:
    """With a capital, unless it begins with a name that has none, as operators' names have."""
    first = text.partition(" ")[0]
    return text if "::" in first or "." in first else text[:1].upper() + text[1:]
