"""What cudaDeviceGetAttribute answers: figures of the chip, and what the virtual GPU is able to."""

from __future__ import annotations

from gridstride.virtual.chips import Chip

CONSTANT_BYTES = 64 << 10


def attributes(chip: Chip) -> dict[int, int]:
    """By the number of cudaDeviceAttr (driver_types.h). Limits of textures are those of compute capability 5.0 on."""
    p = chip.properties
    major, minor = p.compute_capability
    new = major >= 9
    return {
        1: p.max_threads_per_block, 2: p.max_block[0], 3: p.max_block[1], 4: p.max_block[2],
        5: p.max_grid[0], 6: p.max_grid[1], 7: p.max_grid[2], 8: p.shared_per_block, 9: CONSTANT_BYTES,
        10: p.warp_size, 11: 2**31 - 1, 12: p.registers_per_multiprocessor, 13: round(1000 * p.clock_mhz),
        14: 512, 15: 1, 16: p.multiprocessors, 17: 0, 18: 0, 19: 1, 20: 0,
        21: 131072, 22: 131072, 23: 65536, 24: 16384, 25: 16384, 26: 16384, 27: 32768, 28: 32768, 29: 2048,
        30: 512, 31: 1, 32: 0, 33: 0, 34: 0, 35: 0, 36: round(1000 * p.memory_clock_mhz), 37: p.memory_bus_bits,
        38: p.l2_bytes, 39: p.max_threads_per_multiprocessor, 40: 2, 41: 1, 42: 32768, 43: 2048, 45: 32768, 46: 32768,
        47: 8192, 48: 8192, 49: 32768, 50: 0, 51: 32, 52: 32768, 53: 32768, 54: 2046, 55: 32768, 56: 131072, 57: 65536,
        58: 16384, 59: 16384, 60: 16384, 61: 32768, 62: 2048, 63: 32768, 64: 32768, 65: 2048, 66: 32768, 67: 32768,
        68: 2046, 69: 268435456, 70: 131072, 71: 65000, 72: 2097120, 73: 32768, 74: 32768, 75: major, 76: minor,
        77: 32768, 78: 1, 79: 1, 80: 1, 81: p.shared_per_multiprocessor, 82: p.registers_per_multiprocessor,
        83: 1, 84: 0, 85: 0, 86: 0, 87: 2 if chip.rates.get("fp64", 0) * 2 == chip.rates["fp32"] else 32,
        88: 0, 89: 1, 90: 1, 91: 0, 95: 1, 97: p.shared_per_block_optin, 98: 0, 99: 1, 100: 0, 101: 1,
        106: p.max_blocks_per_multiprocessor, 108: 0, 109: 0, 111: chip.allocation["shared_reserved"],
        112: 0, 113: 0, 114: 0, 115: 1, 116: 0, 117: 0, 118: 0, 119: 1, 120: int(new), 121: 0, 125: 1,
        126: 4 if new else 1,
        130: 0, 131: -1, 133: 0, 134: -1, 135: 0, 138: 0, 139: 0, 140: 0, 142: 1, 143: 0, 144: 1, 147: 0, 148: 0,
    }  # fmt: skip
