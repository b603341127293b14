"""Memory that is used after it was freed, freed twice, or never."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import gridstride as gs

KEEPS = """extern "C" __global__ void k(int* x, int n) {
    void* own = malloc(32);
    if (threadIdx.x >= n) free(own);
}"""


@pytest.fixture
def device() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=1, memory=16 << 20, sanitize=True)


def test_what_the_host_keeps_is_a_leak_with_the_line_that_asked(device: gs.VirtualGPU) -> None:
    kept = gs.empty(100, np.float32, device=device)
    gone = gs.empty(100, np.float32, device=device)
    del gone
    (leak,) = device.leaks()
    assert (leak.kind, leak.file, leak.address) == ("leak", __file__, kept.address)
    assert "400 bytes" in leak.message
    assert "in kernel" not in str(leak)


def test_what_kernels_never_free_is_a_leak_at_the_line_of_malloc(device: gs.VirtualGPU) -> None:
    x = np.zeros(4, np.int32)
    with gs.use(device):
        kernel = gs.cuda(KEEPS, filename="keeps.cu")["k"]
        kernel[2, 64](x, 3)
    del kernel
    gc.collect()
    (leak,) = device.leaks()
    assert (leak.kind, leak.kernel, leak.file, leak.line) == ("leak", "k", "keeps.cu", 2)
    assert "6 blocks from malloc, 192 bytes," in leak.message
    assert (leak.block, leak.thread) == ((0, 0, 0), (0, 0, 0))


def test_a_second_free_is_said_to_be_one(device: gs.VirtualGPU) -> None:
    address = device.allocate(100)
    device.free(address)
    with pytest.raises(gs.DeviceError, match=r"100 bytes at 0x[0-9a-f]+ were freed already"):
        device.free(address)
    with pytest.raises(gs.DeviceError, match="no allocation starts at"):
        device.free(address + 4)


def test_freed_addresses_are_not_given_out_again_at_once(device: gs.VirtualGPU) -> None:
    address = device.allocate(100)
    device.free(address)
    assert device.allocate(100) != address


def test_quarantined_memory_is_there_when_it_is_needed(device: gs.VirtualGPU) -> None:
    for _ in range(20):
        device.free(device.allocate(8 << 20))
    assert device.arena.used == 0
