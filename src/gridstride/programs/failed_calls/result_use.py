"""Whether code that has just called a function uses what it returned, read from the code behind the call.

For calls whose error nobody may have looked at: where this is not sure, the result counts as used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Read = Callable[[int, int], bytes]
"""So many bytes of code at an address."""
_LONGEST = 15
_MOST_INSTRUCTIONS, _MOST_BRANCHES = 60, 6


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    length: int
    kind: str
    """`uses` or `drops` the result, `goes_on`, `jumps` or `branches`; `unknown`."""
    target: int = 0


UNKNOWN = MachineInstruction(0, "unknown")
Decode = Callable[[bytes, int], MachineInstruction]
"""The instruction that some code begins with, and the address that it lies at: `x86_64_code`, `aarch64_code`."""


def is_result_dropped(address: int, read: Read, decoded: Decode, *, branches: int = _MOST_BRANCHES) -> bool:
    """Whether what a call left in the register of results is lost before anything reads it.

    `address`: where that call returns to.
    """
    for _ in range(_MOST_INSTRUCTIONS):
        instruction = decoded(read(address, _LONGEST), address)
        if instruction.kind in ("uses", "unknown"):
            return False
        if instruction.kind == "drops":
            return True
        if instruction.kind == "jumps":
            address = instruction.target
            continue
        address += instruction.length
        if instruction.kind == "branches":
            if branches == 0:
                return False
            return all(
                is_result_dropped(to, read, decoded, branches=branches - 1) for to in (address, instruction.target)
            )
    return False
