"""Numbers that no two answers share: of one generator, since to ask the system each time costs a call of it."""

from __future__ import annotations

import os
import random

_numbers = random.Random(os.urandom(32))  # nothing that is given out here is a secret


def new_id() -> str:
    """32 hexadecimal digits."""
    return f"{_numbers.getrandbits(128):032x}"


def new_seed() -> int:
    """From 0 to 2**63 - 1."""
    return _numbers.getrandbits(63)
