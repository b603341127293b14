"""Numbers of the scheduler that the host reads or lays out."""

from __future__ import annotations

from gridstride.virtual.abi.layout import LANES

IN_LOOPS = 1
"""The fault's `space`, which tells this deadlock from one at barriers."""

TID_RECORD = 4 * LANES * 4
"""Bytes per warp in the table that `LAUNCH.tids` points at: x, y and z of every lane, then the mask of lanes."""
