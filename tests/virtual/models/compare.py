"""Runs one kernel on the virtual GPU and in the reference interpreter, and says where they differ."""

from __future__ import annotations

import struct

import numpy as np
import random_ptx
import reference

from gridstride.protocol import Shape
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.ptx import parse

SHAPES = {
    (32, 1, 1): 2, (64, 1, 1): 3, (256, 1, 1): 1, (100, 1, 1): 2, (1, 1, 1): 3, (7, 1, 1): 2, (16, 16, 1): 1,
    (8, 8, 2): 1, (2, 2, 1): 2, (33, 3, 1): 1, (32, 3, 1): 2, (16, 2, 1): 2, (4, 5, 1): 1, (1, 40, 1): 1,
    (3, 3, 3): 1, (64, 2, 2): 1,
}  # fmt: skip
"""Block shapes with how many blocks to run."""


def difference(gpu: VirtualGPU, text: str, block: tuple[int, int, int], blocks: int, *, seed: int = 0) -> str | None:
    """None where the virtual GPU and the reference leave the same bytes, else the first thread that differs."""
    threads = blocks * block[0] * block[1] * block[2]
    rng = np.random.default_rng(seed)
    buffers = [
        rng.integers(0, 1 << rng.choice([3, 8, 32]), random_ptx.IN_WORDS, np.uint64).astype(np.uint32).view(np.uint8),
        rng.integers(0, 256, threads * random_ptx.SCRATCH_BYTES, np.uint8),
        np.full(threads * 4 * random_ptx.OUT_WORDS, 0xEE, np.uint8),
    ]
    addresses = [gpu.allocate(b.nbytes) for b in buffers]
    try:
        memory = reference.Memory({a: bytearray(b.tobytes()) for a, b in zip(addresses, buffers, strict=True)})
        for address, data in zip(addresses, buffers, strict=True):
            gpu.copy_in(address, data)
        reference.run(parse(text), "k", (blocks, 1, 1), block, [*addresses, 5], memory)
        gpu.load(text).kernels["k"].launch(Shape((blocks, 1, 1), block), struct.pack("<QQQI", *addresses, 5))
        for name, address, data in zip(("in", "scratch", "out"), addresses, buffers, strict=True):
            gpu.copy_out(data, address)
            wanted = np.frombuffer(memory.buffers[address], np.uint8)
            if not np.array_equal(data, wanted):
                return _first(name, data, wanted, threads)
    finally:
        for address in addresses:
            gpu.free(address)
    return None


def _first(name: str, data: np.ndarray, wanted: np.ndarray, threads: int) -> str:
    have, want = data.view(np.uint32), wanted.view(np.uint32)
    wrong = np.flatnonzero(have != want)
    each = len(have) // threads
    who = sorted({int(w) // each for w in wrong})
    lines = [f"{name}: {len(who)} of {threads} threads differ: {who[:40]}"]
    lines += [f"  thread {w // each} word {w % each}: {have[w]:#x}, not {want[w]:#x}" for w in wrong[:6]]
    return "\n".join(lines)
