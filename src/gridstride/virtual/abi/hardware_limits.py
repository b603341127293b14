"""Numbers that the hardware fixes, and that generated code and Python both count with."""

from __future__ import annotations

LANES = 32
"""Threads in a warp; every vector register has this many elements."""

BARRIERS = 16
"""Named barriers a block owns (PTX: barrier operand `a` is 0–15)."""

MOST_BLOCKS_IN_CLUSTER = 16
"""With the kernel's consent; 8 without."""

HARDWARE_STACK = 1 << 10
"""Bytes of stack that a thread has for recursive calls: cudaLimitStackSize, unless told otherwise."""
