"""Fields and flags of an mbarrier, and what may be wrong with one."""

from __future__ import annotations

COUNT_MASK = (1 << 20) - 1
"""The most arrivals, and bytes, that a phase can wait for."""

ABSENT, BAD_COUNT, TOO_MANY, BAD_BYTES = range(1, 5)
"""What is wrong with a use, as the fault's size says it to Python."""

MAY_WAIT, MAY_YIELD, MAY_FAIL, GIVES_UP = 1, 2, 4, 8
"""Flags of `gs_mbarrier_test`: hold the warp until a phase ends; let the others run once; give up at once, now and
then, in a launch whose lanes take turns in reverse: PTX has try_wait end at a time limit of the system's own. The loop
around may give up, which a launch with patience waits for."""

BLOCK_ORDER, CLUSTER_ORDER = 1, 2
"""What an arrival or a wait orders: memory among the threads of its block, and of its cluster; 0 for none."""
