"""Plain loads of a whole warp: what each leaves for those who write later, whatever the lanes have in common."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

READS = {
    "each its own": "s[t]",
    "one word by all": "s[0]",
    "each word by four": "s[t / 4]",
    "the next lane's": "s[(t + 1) % 32]",
    "four words each": "sum(((const int4*)s)[t % 8])",
    "bytes": "((const char*)s)[t]",
}
SHARED = {"each word by four", "four words each", "bytes"}
WRITES = {
    "each its own": ("s[t] = v + 7;", SHARED | {"one word by all", "the next lane's"}),
    "lane 3 its own": ("if (t == 3) s[3] = v + 7;", SHARED | {"the next lane's"}),
    "lane 0 the first": ("if (t == 0) s[0] = v + 7;", SHARED | {"one word by all", "the next lane's"}),
    "a word that nobody read": ("if (t == 5) s[40] = v + 7;", set()),
}
KERNEL = """__device__ int sum(int4 v) { return v.x + v.y + v.z + v.w; }
__device__ unsigned at(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const int *x, int *out) {
    __shared__ alignas(16) int s[64];
    const int t = threadIdx.x;
    s[t] = x[t]; s[t + 32] = 0;
    BARRIER
    int v = READ;
    TWICE
    SYNC
    WRITE
    __syncthreads();
    out[t] = v + s[t];
}"""


def kinds(read: str, write: str, *, sync: str = "", twice: str = "", barrier: str = "__syncthreads();") -> set[str]:
    source = KERNEL.replace("READ", read).replace("WRITE", write).replace("SYNC", sync).replace("TWICE", twice)
    kernel = gs.cuda(source.replace("BARRIER", barrier))["k"]
    arrays = gs.to_device(np.arange(32, dtype=np.int32) + 1), gs.to_device(np.zeros(32, np.int32))
    return {finding.kind for finding in kernel.observe(1, 32)(*arrays).findings}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", READS)
def test_a_write_races_with_the_reads_of_other_lanes_alone(read: str, write: str) -> None:
    text, racing = WRITES[write]
    assert kinds(READS[read], text) == ({"race"} if read in racing else set())
    assert kinds(READS[read], text, sync="__syncwarp();") == set()


@pytest.mark.parametrize("read", READS)
def test_what_lanes_have_written_is_read_behind_a_barrier_or_by_themselves(read: str) -> None:
    assert kinds(READS[read], "", barrier="") == (set() if read == "each its own" else {"race"})
    assert kinds(READS[read], "", barrier="__syncwarp();") == set()


def test_readers_stay_several_where_one_of_them_reads_again() -> None:
    """The unit's last reader is the writer itself: the others before it are not forgotten, until all meet."""
    again = 'if (t == 0) { int w; asm volatile("ld.shared.s32 %0, [%1];" : "=r"(w) : "r"(at(s))); v += w; }'
    assert kinds("s[0]", "if (t == 0) s[0] = v + 7;", twice=again) == {"race"}
    assert kinds("s[0]", "if (t == 0) s[0] = v + 7;", twice="__syncwarp();" + again) == set()


def test_lanes_that_a_mask_has_brought_together_know_of_each_others_reads() -> None:
    """A lane outside the mask does not."""
    half, write = "if (t < 16) __syncwarp(0xffff);", "if (t == 0) s[1] = v + 7;"
    assert kinds("(t < 16 ? s[(t + 1) % 16] : 0)", write, sync=half) == set()
    assert kinds("s[(t + 1) % 32 % 16]", write, sync=half) == {"race"}


def test_what_another_warp_wrote_races_without_a_barrier_of_the_block() -> None:
    source = """extern "C" __global__ void k(int *out) {
        __shared__ int s[64]; const int t = threadIdx.x;
        s[t] = t; BARRIER
        out[t] = s[(t + 32) % 64]; }"""
    for barrier, racing in (("__syncthreads();", set()), ("__syncwarp();", {"race"})):
        out = gs.to_device(np.zeros(64, np.int32))
        found = gs.cuda(source.replace("BARRIER", barrier))["k"].observe(1, 64)(out).findings
        assert {finding.kind for finding in found} == racing
