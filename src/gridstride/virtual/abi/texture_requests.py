"""How a kernel asks the runtime for texels: rows, flags and shapes of a request."""

from __future__ import annotations

from gridstride.virtual.abi.hardware_limits import LANES

ROW = 4 * LANES
X, Y, Z, LAYER, LOD, GRADIENTS = 0, 1, 2, 3, 4, 5
"""Rows of a request, 32 words each: three coordinates, the layer, the level, six differences (x, y, z; then again)."""

ROWS = 11
DIMENSIONS, LAYERED, CUBE, LINEAR = 3, 4, 8, 16
"""A request's form: how many dimensions (a cube's face has two), and flags; also an object's shape in these words."""

GEOMETRIES = {
    "1d": 1, "2d": 2, "3d": 3, "a1d": 1 | LAYERED, "a2d": 2 | LAYERED, "cube": 2 | CUBE, "acube": 2 | CUBE | LAYERED,
}  # fmt: skip
"""What instructions name, as shapes. An object may also be linear memory: `1 | LINEAR`."""

INTEGER, LEVEL, GRADIENT = 32, 64, 128
GATHER_SHIFT = 8
"""From this bit on: which channel a gather takes, plus one."""

SHAPE = 31
