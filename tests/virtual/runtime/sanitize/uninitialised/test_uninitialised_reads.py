"""Reads of memory that nothing wrote: what sets memory, and which values do not matter. The faults: test_faulty.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.machine.memory.arena import Arena
from gridstride.virtual.machine.memory.uninitialised_map import Unset

ADD = 'extern "C" __global__ void k(int* x) { x[threadIdx.x] += 1; }'
FILL = 'extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 1; }'


@pytest.fixture
def device() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=1, memory=16 << 20)


def findings(
    device: gs.VirtualGPU, x: gs.DeviceArray, source: str = ADD, threads: int = 64
) -> tuple[KernelFinding, ...]:
    with gs.use(device):
        run = gs.cuda(source)["k"].observe(1, threads)(x)
        assert isinstance(run.findings, tuple)
        return run.findings


def empty(device: gs.VirtualGPU, size: int = 64) -> gs.DeviceArray:
    return gs.empty(size, np.int32, device=device)


def test_the_finding_names_the_array_and_the_element(device: gs.VirtualGPU) -> None:
    x = empty(device)
    device.copy_in(x.address, np.zeros(40, np.int32))
    (found,) = findings(device, x)
    assert (found.kind, found.thread, found.address) == ("uninitialised_read", (40, 0, 0), x.address + 160)
    assert "reads x[40] of 64 elements, which neither" in found.message


def test_what_the_host_or_a_kernel_wrote_is_set(device: gs.VirtualGPU) -> None:
    assert findings(device, gs.to_device(np.zeros(64, np.int32), device=device)) == ()
    x = empty(device)
    with gs.use(device):
        assert gs.cuda(FILL)["fill"].observe(1, 64)(x).findings == ()
    assert findings(device, x) == ()


def test_after_a_launch_of_the_fast_build_all_counts_as_set(device: gs.VirtualGPU) -> None:
    x = empty(device)
    with gs.use(device):
        gs.cuda(FILL)["fill"][1, 32](x)
    assert findings(device, x) == ()


def test_memory_that_is_given_out_again_is_unset_again(device: gs.VirtualGPU) -> None:
    x = gs.to_device(np.zeros(64, np.int32), device=device)
    address = x.address
    del x
    x = empty(device)
    assert x.address == address
    assert [f.kind for f in findings(device, x)] == ["uninitialised_read"]


def test_poison_that_the_host_wrote_can_be_declared_unset(device: gs.VirtualGPU) -> None:
    x = gs.to_device(np.zeros(64, np.int32), device=device)
    device.forget(x.address, x.nbytes)
    assert [f.kind for f in findings(device, x)] == ["uninitialised_read"]


EDGE = """extern "C" __global__ void k(int* x) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    if (t < 40) tile[t] = t;
    __syncthreads();
    const int sum = tile[t] * 3 + 1;
    if (t < 40) x[t] = sum;
}"""
TAIL = """extern "C" __global__ void k(int* x) {
    __shared__ int4 tile[64];
    const int t = threadIdx.x;
    tile[t].x = t; tile[t].y = t;
    __syncthreads();
    const int4 v = tile[63 - t];
    x[t] = v.x + v.y;
}"""
COPY = """struct __align__(16) S { int a, b, c; };
extern "C" __global__ void k(int* x) {
    __shared__ S s[4];
    const int t = threadIdx.x;
    if (t < 4) { s[t].a = t; s[t].b = t; s[t].c = t; }
    __syncthreads();
    if (t < 4) reinterpret_cast<S*>(x)[t] = s[3 - t];
}"""


@pytest.mark.parametrize("source", [EDGE, TAIL, COPY], ids=["dropped", "part of a vector", "padding copied"])
def test_values_that_do_not_matter_are_silent(device: gs.VirtualGPU, source: str) -> None:
    assert findings(device, empty(device), source) == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 255), st.integers(1, 256)), max_size=6))
def test_the_shadow_agrees_with_a_plain_model(steps: list[tuple[bool, int, int]]) -> None:
    arena, unset = Arena(1 << 20), Unset()
    start = arena.allocate(256)
    assert start is not None
    unset.allocated(start, 256)
    model = np.ones(64, bool)
    for sets, first, size in steps:
        end = min(256, first + size)
        if sets:
            unset.written(arena, start + first, end - first)
            model[first // 4 : -(-end // 4)] = False
        else:
            unset.forget(arena, start + first, end - first)
            model[-(-first // 4) : -(-end // 4)] = True
    shadow, low, span = unset.shadow(arena)
    assert span in (0, 256)
    assert span or not model.any()
    if span:
        assert low == start
        seen = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * 64).from_address(shadow))
        assert (seen.astype(bool) == model).all()


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
{{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r5, 1;
    {body}
END:
    ret;
}}"""
NEVER = {
    "stored": "st.global.b32 [%rd1], %r1;",
    "counted with": "add.u32 %r2, %r1, 1; st.global.b32 [%rd1], %r2;",
    "decides": "@%p1 bra END; st.global.b32 [%rd1], 1;",
    "both halves": "mov.b64 %rd3, {%r3, %r4}; st.global.b64 [%rd1], %rd3;",
}


@pytest.mark.parametrize("body", NEVER.values(), ids=NEVER)
def test_a_register_that_nothing_writes_is_found_where_it_counts(device: gs.VirtualGPU, body: str) -> None:
    with gs.use(device):
        run = gs.ptx(PTX.format(body=body))["k"].observe(1, 32)(np.zeros(64, np.int32))
    assert {found.kind for found in run.findings} == {"uninitialised_read"}
    assert "never wrote" in run.findings[0].message


def test_a_register_that_nothing_writes_may_be_padding_or_dropped(device: gs.VirtualGPU) -> None:
    body = "mov.b64 %rd3, {%r5, %r4}; add.u32 %r6, %r1, 1; st.global.b64 [%rd1], %rd3;"
    with gs.use(device):
        assert gs.ptx(PTX.format(body=body))["k"].observe(1, 32)(np.zeros(64, np.int32)).findings == ()
