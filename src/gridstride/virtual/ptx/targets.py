"""Which chips have an instruction: what ptxas holds a module's .target to."""

from __future__ import annotations

import re
from functools import cache

from gridstride.virtual.ptx.isa import ISA

_TARGET = re.compile(r"(?:sm|compute)_(\d+)([af]?)")


@cache
def needed(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    """The least target that has the instruction; None where every target does that the ISA still knows."""
    words = {m.partition("::")[0] for m in modifiers}
    return next((target for needs, target in ISA[opcode].targets if words >= needs), None)


@cache
def serves(target: str, least: str) -> bool:
    """Whether a module for `target` may use what needs `least`; one with a letter needs just that chip."""
    have, want = _TARGET.fullmatch(target), _TARGET.fullmatch(least)
    assert want is not None
    if have is None:
        return True
    if want[2]:
        return have[1] == want[1] and have[2] != ""
    return int(have[1]) >= int(want[1])
