"""Probes see every access that a compiler writes, and leave what the kernel computes as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

import gridstride as gs
from gridstride.judge.execution import probe
from gridstride.judge.execution.runnable import Runnable, build
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.judge.problem import Case
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.ptx import parse

KERNEL = """// grid: ceil(n/256)
// block: 256
__device__ float helped(const float* p, int i);
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ float4 tile[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    if (i < n) c[i] = helped(a, i) + b[i] + tile[threadIdx.x ^ 1].w - 4;
}
__device__ __noinline__ float helped(const float* p, int i) { return p[i]; }
"""
NOTHING = "add.u64 %gs_at, %gs_base, 0;"


def runnable() -> Runnable:
    return build(find("vector_add").problem, parse_kernel(KERNEL, filename="mine.cu"), VirtualGPU("h200"))


def sites(one: Runnable) -> list[probe.AccessSite]:
    with gs.use(one.device):
        kernel: Any = one.kernel.bound().kernel
        return probe.sites(kernel.module.parsed, kernel.name)


def test_sites_have_their_space_bytes_and_line() -> None:
    found = {(s.space, s.bytes, s.writes, s.line) for s in sites(runnable())}
    assert {("shared", 16, True, 8), ("global", 4, True, 10)} <= found
    assert any(line == 12 and not writes for _, _, writes, line in found)  # in the function that it calls


def test_a_probed_kernel_computes_the_same() -> None:
    one, case = runnable(), Case({"n": 1000}, "normal", 1)
    probed = probe.build(one, lambda site: True, 64, lambda site: NOTHING)
    assert probed is not None
    with gs.use(one.device):
        a, b, c = (gs.to_device(np.arange(1000, dtype=np.float32)) for _ in range(3))
        probed.run(one, case, (a, b, c, 1000), np.zeros(64, np.uint8))
        assert (c.numpy() == 2 * np.arange(1000)).all()


def test_probes_count_only_accesses_that_are_made() -> None:
    one, case = runnable(), Case({"n": 1000}, "normal", 1)
    code = "@%gs_on atom.global.add.u32 %gs_n, [%gs_base], 1;"
    probed = probe.build(one, lambda site: site.writes and site.space == "global", 64, lambda site: code)
    assert probed is not None
    with gs.use(one.device):
        arrays = (gs.to_device(np.zeros(1000, np.float32)) for _ in range(3))
        seen = probed.run(one, case, (*arrays, 1000), np.zeros(64, np.uint8))
    assert int(seen[:4].view(np.uint32)[0]) == 1000


def test_what_is_put_in_is_ptx_with_guards_of_both_kinds() -> None:
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %rd<3>; .reg .pred %p<2>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 4;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd2, %rd1, %rd2;
    @%p1 st.global.u32 [%rd2+4], %r1;
    @!%p1 st.global.u32 [%rd2+-4], %r1;
    ret;
}
"""
    module = parse(text)
    found = probe.sites(module, "k")
    again = parse(probe.probed(text, module, "k", found, 64, lambda site: NOTHING))
    assert len(probe.sites(again, "k")) == len(found) == 2
    assert probe.VARIABLE in again.variables


LINE_0 = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b64 %rd<3>;
    .loc 1 7 3
    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd2, %rd1;
    .loc 1 0 3
    st.global.u32 [%rd2], 1;
    ret;
}
.file 1 "mine.cu"
"""


def test_an_access_on_the_compilers_line_0_is_on_the_line_before() -> None:
    with gs.use("virtual"):
        kernel: Any = gs.ptx(LINE_0)["k"].bound().kernel
        assert [site.line for site in probe.sites(kernel.module.parsed, "k")] == [7]
