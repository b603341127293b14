"""Which bytes a watched launch used: exactly, as copies of other streams may lie right beside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.machine.memory.footprint import Footprint, Spans

KERNELS = """
extern "C" __global__ void every_other(const float* in, float* out) { out[2 * threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void count(const float* in, int* out) { atomicAdd(out, 1); }
extern "C" __global__ void poll(volatile float* in, float* out) { out[0] = in[3]; }
extern "C" __global__ void bytes(const unsigned char* in, unsigned char* out) { out[threadIdx.x] = in[5]; }
"""
LANES, BYTES = 32, 4096


@pytest.fixture(scope="module")
def gpu() -> VirtualGPU:
    return VirtualGPU(sanitize=True, workers=1)


def used(gpu: VirtualGPU, name: str) -> tuple[Footprint, int, int]:
    """By one block, and where its two arrays are."""
    with use(gpu):
        kernel = cuda(KERNELS)[name].bound().kernel
    first, second = gpu.allocate(BYTES), gpu.allocate(BYTES)
    gpu.copy_in(first, np.zeros(BYTES, np.uint8))
    gpu.copy_in(second, np.zeros(BYTES, np.uint8))
    gpu.footprints = []
    from gridstride.protocol import Shape

    kernel.launch(Shape((1, 1, 1), (LANES, 1, 1)), np.array([first, second], np.uint64).tobytes())
    prints, gpu.footprints = gpu.footprints, None
    (only,) = prints
    return only, first, second


def ranges(spans: Spans, start: int) -> list[tuple[int, int]]:
    return [(low - start, high - start) for low, high in zip(spans.start.tolist(), spans.end.tolist(), strict=True)]


def test_elements_between_those_written_are_not_used(gpu: VirtualGPU) -> None:
    found, first, second = used(gpu, "every_other")
    assert ranges(found.read, first) == [(0, 4 * LANES)]
    assert ranges(found.written, second) == [(8 * i, 8 * i + 4) for i in range(LANES)]
    assert not len(found.strongly_written)


def test_atomics_and_volatile_accesses_are_strong(gpu: VirtualGPU) -> None:
    found, _, second = used(gpu, "count")
    assert ranges(found.strongly_written, second) == [(0, 4)]
    assert not len(found.written)
    found, first, _ = used(gpu, "poll")
    assert ranges(found.strongly_read, first) == [(12, 16)]
    assert not len(found.read)


def test_bytes_are_told_apart(gpu: VirtualGPU) -> None:
    found, first, second = used(gpu, "bytes")
    assert ranges(found.read, first) == [(5, 6)]
    assert ranges(found.written, second) == [(0, LANES)]


def test_the_instruction_is_known(gpu: VirtualGPU) -> None:
    found, _, _ = used(gpu, "every_other")
    site = found.sites[int(found.written.site[0])]
    assert site.name.startswith("st.global")
    assert site.line == 2


def as_set(spans: Spans) -> set[int]:
    return {
        byte for low, high in zip(spans.start.tolist(), spans.end.tolist(), strict=True) for byte in range(low, high)
    }


def spans_of(numbers: set[int]) -> Spans:
    ordered = sorted(numbers)
    starts = [n for n in ordered if n - 1 not in numbers]
    ends = [n + 1 for n in ordered if n + 1 not in numbers]
    return Spans(np.array(starts, np.int64), np.array(ends, np.int64), np.zeros(len(starts), np.int64))


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(0, 60), st.integers(0, 20))
def test_what_two_have_in_common(one: set[int], other: set[int], start: int, nbytes: int) -> None:
    a, b = spans_of(one), spans_of(other)
    common = one & other
    found = a.overlap(b)
    assert (found is None) == (not common)
    if found is not None:
        assert found[:2] == (min(common), len(common))
    left = as_set(a.without(start, start + nbytes))
    assert left <= one
    assert not left & set(range(start, start + nbytes))


def test_rows_lie_apart() -> None:
    assert as_set(Spans.rows(10, 2, 8, 3)) == {10, 11, 18, 19, 26, 27}
