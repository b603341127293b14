"""cp.async and cp.async.bulk: what lands when, zero fill, bounds on both sides, and waits that are missing."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs


def cp_async(size: int, more: str = "") -> str:
    kind = "cg" if size == 16 else "ca"
    return f"""
    __device__ void copy(void *to, const void *from) {{
        asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size};" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
    }}
    __device__ void copy(void *to, const void *from, int n) {{
        asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size}, %2;" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(n) : "memory");
    }}
    __device__ void skip(void *to, const void *from, bool ignore) {{
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, %2, 0; cp.async.{kind}.shared.global [%0], [%1], {size}, p; }}" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"((int)ignore) : "memory");
    }}
    __device__ void commit() {{ asm volatile("cp.async.commit_group;" ::: "memory"); }}
    template <int N> __device__ void wait() {{ asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }}
    __device__ void wait_all() {{ asm volatile("cp.async.wait_all;" ::: "memory"); }}
    """


BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


@BUILDS
@pytest.mark.parametrize("size", [4, 8, 16])
def test_each_size_copies_with_any_pattern(gpu: gs.VirtualGPU, size: int, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(size)
        + f"""extern "C" __global__ void k(const char *x, const int *which, char *y) {{
        __shared__ alignas(16) char s[64 * {size}], r[64 * {size}];
        int t = threadIdx.x;
        copy(s + {size} * t, x + {size} * (64 * blockIdx.x + t));
        copy(r + {size} * (63 - t), x + {size} * which[t]);
        commit();
        wait<0>();
        __syncthreads();
        for (int i = 0; i < {size}; ++i) {{
            y[{size} * (64 * blockIdx.x + t) + i] = s[{size} * (t ^ 1) + i];
            y[{size} * (64 * (3 + blockIdx.x) + t) + i] = r[{size} * t + i];
        }}
    }}"""
    )["k"]
    rng = np.random.default_rng(size)
    x = rng.integers(-128, 128, (192, size)).astype(np.int8)
    which, y = rng.integers(0, 192, 64).astype(np.int32), np.zeros((384, size), np.int8)
    kernel[3, 64](x, which, y)
    assert (y[:192] == x[np.arange(192) ^ 1]).all()
    assert (y[192:].reshape(3, 64, size) == x[which][::-1]).all()


@BUILDS
def test_source_size_and_ignored_sources_fill_with_zeros(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const char *x, char *y, int n) {
        __shared__ alignas(16) char s[2][32 * 16];
        int t = threadIdx.x, left = n - 16 * t;
        copy(s[0] + 16 * t, x + 16 * t, left < 0 ? 0 : left > 16 ? 16 : left);
        skip(s[1] + 16 * t, x + (t % 3 ? 16 * t : 1 << 30), t % 3 == 0);
        wait_all();
        for (int j = 0; j < 2; ++j) for (int i = 0; i < 16; ++i) y[512 * j + 16 * t + i] = s[j][16 * t + i];
    }"""
    )["k"]
    x, y = np.arange(512).astype(np.int8) | 1, np.ones((2, 512), np.int8)
    n = 16 * 20 + 5
    kernel[1, 32](x, y, n)
    assert (y[0] == np.where(np.arange(512) < n, x, 0)).all()
    assert (y[1].reshape(32, 16) == np.where(np.arange(32)[:, None] % 3, x.reshape(32, 16), 0)).all()


def test_a_tail_that_is_not_read_may_lie_outside(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const float *x, float *y, int n) {
        __shared__ float4 s[32];
        int t = threadIdx.x, left = 4 * (n - 4 * t);
        copy(s + t, x + 4 * t, left < 0 ? 0 : left > 16 ? 16 : left);
        wait_all();
        y[t] = s[t].x + s[t].y + s[t].z + s[t].w;
    }"""
    )["k"]
    x, y = np.ones(50, np.float32), np.zeros(32, np.float32)
    kernel[1, 32](x, y, 50)
    assert y.tolist() == [4.0] * 12 + [2.0] + [0.0] * 19
    with pytest.raises(gs.KernelFault) as fault:
        kernel[1, 32](x, y, 51)
    assert (fault.value.kind, fault.value.thread) == ("out_of_bounds", (12, 0, 0))


PIPELINE = """extern "C" __global__ void k(const float *x, float *y, int rounds) {
    __shared__ float s[4][32];
    int t = threadIdx.x;
    for (int i = 0; i < 3; ++i) { copy(&s[i][t], x + 32 * i + t); commit(); }
    for (int i = 0; i < rounds; ++i) {
        WAIT
        y[32 * i + t] = s[i % 4][t];
        if (i + 3 < rounds) copy(&s[(i + 3) % 4][t], x + 32 * (i + 3) + t);
        commit();
    }
}"""


def test_data_lands_with_its_group_and_not_before(gpu: gs.VirtualGPU) -> None:
    """Waiting for one group too few reads what was there before, which is a finding; the fast build may hide it."""
    x = np.arange(32 * 12, dtype=np.float32)
    for wait, right in (("wait<2>();", True), ("wait<3>();", False), ("", False)):
        kernel, y = gs.cuda(cp_async(4) + PIPELINE.replace("WAIT", wait))["k"], np.zeros_like(x)
        run = kernel.observe(1, 32)(x, y, 12)
        assert [f.kind for f in run.findings] == ([] if right else ["unwaited_copy"])
        assert (y == x).all() == right, wait
        if not right:
            assert np.isnan(y[:32]).all()


def test_a_copy_that_other_warps_read_without_a_barrier_is_a_race(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(4)
        + """extern "C" __global__ void k(const int *x, int *y) {
        __shared__ int s[64];
        copy(s + threadIdx.x, x + threadIdx.x);
        wait_all();
        y[threadIdx.x] = s[threadIdx.x ^ 32];
    }"""
    )["k"]
    run = kernel.observe(1, 64)(np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert {f.kind for f in run.findings} == {"race"}
    assert any("wrote" in f.message for f in run.findings)


@BUILDS
@pytest.mark.parametrize(
    ("to", "origin", "kind", "message"),
    [
        ("s + 4 * t + 4", "x + 4 * t", "out_of_bounds", "offset 512 of shared memory, of which the block has 512"),
        ("s + 4 * t", "x + 4 * t + 4", "out_of_bounds", "past the end|over the end"),
        ("s + 4 * t + 1", "x + 4 * t", "misaligned", "16"),
        ("s + 4 * t", "x + 4 * t + 2", "misaligned", "16"),
    ],
)
def test_both_sides_are_checked(
    gpu: gs.VirtualGPU, to: str, origin: str, kind: str, message: str, sanitize: bool
) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(16)
        + f"""extern "C" __global__ void k(const float *x, float *y) {{
        __shared__ alignas(16) float s[128]; int t = threadIdx.x;
        copy({to}, {origin});
        wait_all();
        y[t] = s[t];
    }}"""
    )["k"]
    with pytest.raises(gs.KernelFault, match=message) as fault:
        kernel[1, 32](np.zeros(128, np.float32), np.zeros(32, np.float32))
    assert fault.value.kind == kind


def test_an_observed_copy_counts_its_sectors(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const float4 *x, float4 *y) {
        __shared__ float4 s[32];
        copy(s + threadIdx.x, x + threadIdx.x);
        wait_all();
        y[threadIdx.x] = s[threadIdx.x];
    }"""
    )["k"]
    run = kernel.observe(1, 32)(np.ones((32, 4), np.float32), np.zeros((32, 4), np.float32))
    assert run.counters.global_sectors == 32
    assert run.counters.global_requests == 2


def test_prefetches_change_nothing(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const float *x, float *y) {
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" :: "l"(x));
        asm volatile("prefetch.global.L2 [%0];" :: "l"(x + 1000000));
        y[threadIdx.x] = x[threadIdx.x];
    }""")["k"]
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    assert kernel.observe(1, 32)(x, y).findings == ()
    assert (y == x).all()
