"""Which bytes an observed launch touched: between addresses that somebody asks about, in whole sectors."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.virtual.machine.memory.touched import SectorSpan

SOURCE = """
extern "C" __global__ void copy(const float *from, float *to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
"""
BYTES = 4


def test_what_is_touched_from_each_cut_to_the_next_is_told_once() -> None:
    device = gs.VirtualGPU("h200")
    with gs.use(device):
        kernel = gs.cuda(SOURCE)["copy"]
        data = gs.to_device(np.zeros(1024, np.float32))
        first, second = data.address, data.address + 512 * BYTES
        device.touched.cuts = [first, second]
        kernel.observe(2, 128)(data, gs.empty(256, np.float32), 256)
        assert device.touched.spans == [SectorSpan(first, first, first + 256 * BYTES, "read", 256 * BYTES)]
        kernel.observe(2, 128)(data, gs.empty(256, np.float32), 256)
        assert device.touched.spans == []  # nobody asked this time


def test_a_span_ends_with_its_allocation() -> None:
    device = gs.VirtualGPU("h200")
    with gs.use(device):
        kernel = gs.cuda(SOURCE)["copy"]
        source, target = gs.to_device(np.zeros(100, np.float32)), gs.empty(100, np.float32)
        ends = {each.address: each.address + 100 * BYTES for each in (source, target)}
        device.touched.cuts = sorted(ends)
        kernel.observe(1, 128)(source, target, 100)
        found = {each.cut: (each.first, each.end, each.way) for each in device.touched.spans}
    assert found == {
        source.address: (source.address, ends[source.address], "read"),
        target.address: (target.address, ends[target.address], "write"),
    }


def test_a_spans_bytes_are_those_of_the_sectors_that_were_touched() -> None:
    device = gs.VirtualGPU("h200")
    with gs.use(device):
        kernel = gs.cuda(SOURCE.replace("from[i]", "from[16 * i]"))["copy"]
        source, target = gs.to_device(np.zeros(4096, np.float32)), gs.empty(256, np.float32)
        device.touched.cuts = [source.address]
        kernel.observe(2, 128)(source, target, 256)
        (span,) = device.touched.spans
    assert span.nbytes == 256 * 32  # a sector of each 64 bytes
    assert span.end - span.first == 255 * 64 + 32
