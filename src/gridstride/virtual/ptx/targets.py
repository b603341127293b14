"""Which chips have an instruction: what ptxas holds a module's .target to."""

from __future__ import annotations

import re
from functools import cache

# Opcode, with the modifiers that it takes to need the target. The first that fits counts. PTX ISA, "Target ISA Notes"
# of each instruction; held to ptxas 13.0 by tests/virtual/ptx/test_targets.py.
_NEEDS = """
    wgmma | sm_90a
    setmaxnreg | sm_90a
    multimem | sm_90
    cp async bulk | sm_90
    cp async | sm_80
    cp reduce | sm_90
    st async | sm_90
    red async | sm_90
    barrier cluster | sm_90
    mbarrier | sm_80
    stmatrix | sm_90
    elect | sm_90
    mapa | sm_90
    getctarank | sm_90
    griddepcontrol | sm_90
    tensormap | sm_90a
    createpolicy | sm_80
    redux | sm_80
    ldmatrix | sm_75
    movmatrix | sm_75
    mma sp | sm_80
"""
_RULES = [(line.partition("|")[0].split(), line.partition("|")[2].strip()) for line in _NEEDS.strip().splitlines()]
_TARGET = re.compile(r"(?:sm|compute)_(\d+)([af]?)")


@cache
def needed(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    """The least target that has the instruction; None where every target does that the ISA still knows."""
    said = {m.partition("::")[0] for m in modifiers}
    for (first, *others), target in _RULES:
        if first == opcode and said.issuperset(others):
            return target
    return None


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
