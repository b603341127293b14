"""Numbers of address spaces, and the parts of an address in a cluster's shared memory."""

from __future__ import annotations

SPACES = {"generic": 0, "global": 0, "const": 0, "shared": 1, "local": 2, "param": 3}
"""The number by which the runtime knows a space; global, const and generic addresses are the same thing here."""

GLOBAL, SHARED, LOCAL = 0, 1, 2

CLUSTER_SPACE = 4
"""How runtime functions know `shared::cluster` (memory.py has the other spaces)."""

NO_BLOCK_ADDRESS = 0xFFFF_FE << 40
"""Generic addresses of blocks that the cluster does not have: no memory is there."""

RANK_SHIFT = 24
"""Shared memory of a cluster's blocks lies this power of two apart. The same bits of a `shared::cluster` address hold
the block's rank plus 1, or 0 for the block's own."""

OFFSET_MASK = (1 << RANK_SHIFT) - 1

NO_SITE = 0xFFFFFFFF
"""The site of a warp that has not waited yet."""
