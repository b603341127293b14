"""Numbers of CUDA's device runtime, which kernels call to launch grids."""

from __future__ import annotations

FUNCTION_BASE = 0x7F00_0000_0000_0000
"""Function pointers are FUNCTION_BASE + 16 · number: never an address, so a wild one is found before it is called."""

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION = 1, 2, 9
TOO_MANY_PENDING, INVALID_FUNCTION, INVALID_DEVICE, INVALID_HANDLE = 69, 98, 101, 400
"""cudaError_t (driver_types.h)."""

TAIL, FIRE_AND_FORGET = 3, 4
"""The streams cudaStreamTailLaunch and cudaStreamFireAndForget; 0 to 2 are null, legacy and per thread."""

NO_ATTRIBUTE = -(1 << 31)
