"""Modifiers that texts of older PTX versions and targets leave out, and that ptxas adds."""

from __future__ import annotations

import re
from functools import cache

from gridstride.virtual.ptx.parsing.check import forms_of

_ROUNDINGS = {"rn", "rz", "rm", "rp"}
_MAD_WITHOUT_ROUNDING = (3, 1)
"""The last PTX version whose `mad.f32` needs no rounding modifier: ptxas makes it a fused multiply-add, `.rn`."""
_FLUSHING = re.compile(r"(?:sm|compute)_1\d")
"""Targets whose float32 arithmetic has no subnormal numbers: ptxas flushes them also for newer chips."""


@cache
def completed(opcode: str, modifiers: tuple[str, ...], version: tuple[int, int], target: str) -> tuple[str, ...]:
    """The modifiers with those that the text's version and target imply."""
    if "f32" not in modifiers:
        return modifiers
    if opcode == "mad" and version <= _MAD_WITHOUT_ROUNDING and not _ROUNDINGS & set(modifiers):
        modifiers = ("rn", *modifiers)
    if _FLUSHING.fullmatch(target) and "ftz" not in modifiers:
        types = -2 if opcode == "cvt" else -1
        flushing = (*modifiers[:types], "ftz", *modifiers[types:])
        forms = forms_of(opcode, flushing)
        if forms and not isinstance(forms, str):
            return flushing
    return modifiers
