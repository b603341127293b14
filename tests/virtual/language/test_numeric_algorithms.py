"""Programs of numerics as one meets them: stencils, transforms, sums over particles, sampling, clustering."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import default_rng as rng

import gridstride as gs

pytestmark = pytest.mark.usefixtures("both_builds")


def test_heat_spreads_in_tiles_with_a_rim() -> None:
    kernel = gs.cuda("""
    template <int N> __global__ void heat(const float *in, float *out, int w, int h) {
        __shared__ float s[N + 2][N + 2];
        int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
        for (int j = threadIdx.y; j < N + 2; j += N)
            for (int i = threadIdx.x; i < N + 2; i += N) {
                int u = min(max(int(blockIdx.x) * N + i - 1, 0), w - 1);
                int v = min(max(int(blockIdx.y) * N + j - 1, 0), h - 1);
                s[j][i] = in[v * w + u];
            }
        __syncthreads();
        if (x >= w || y >= h) return;
        int i = threadIdx.x + 1, j = threadIdx.y + 1;
        out[y * w + x] = s[j][i] + 0.2f * (s[j - 1][i] + s[j + 1][i] + s[j][i - 1] + s[j][i + 1] - 4 * s[j][i]);
    }""")["heat<16>"]
    w, h = 50, 37
    field = rng(0).random((h, w), np.float32)
    a, b = gs.to_device(field), gs.empty((h, w), np.float32)
    want = field.astype(np.float64)
    for _ in range(4):
        kernel[(4, 3), (16, 16)](a, b, w, h)
        a, b = b, a
        p = np.pad(want, 1, mode="edge")
        want = want + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * want)
    assert np.allclose(a.numpy(), want, atol=1e-5)


def test_a_sparse_matrix_times_a_vector_by_warps() -> None:
    kernel = gs.cuda(
        """
    extern "C" __global__ void spmv(const int *start, const int *column, const float *value, const float *x,
                                    float *y, int n) {
        int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
        if (row >= n) return;
        float sum = 0;
        for (int e = start[row] + lane; e < start[row + 1]; e += 32) sum += value[e] * __ldg(&x[column[e]]);
        for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
        if (lane == 0) y[row] = sum;
    }""".replace("float *y, int n", "float *y,\n                                    int n")
    )["spmv"]
    n = 77
    dense = np.where(rng(0).random((n, n)) < 0.4, rng(1).random((n, n)), 0).astype(np.float32)
    start = np.concatenate([[0], (dense != 0).sum(1).cumsum()]).astype(np.int32)
    column = np.nonzero(dense)[1].astype(np.int32)
    x, y = rng(2).random(n, np.float32), np.zeros(n, np.float32)
    kernel[-(-n // 4), 128](start, column, dense[dense != 0], x, y, n)
    assert np.allclose(y, dense.astype(float) @ x, rtol=1e-5)


def test_a_fourier_transform_in_registers_and_shared_memory() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void fft(float2 *x, int log_n) {
        extern __shared__ float2 s[];
        int n = 1 << log_n, i = threadIdx.x;
        for (int j = i; j < n; j += blockDim.x) s[__brev(j) >> (32 - log_n)] = x[blockIdx.x * n + j];
        for (int half = 1; half < n; half *= 2) {
            __syncthreads();
            for (int j = i; j < n / 2; j += blockDim.x) {
                int k = j % half, p = 2 * (j - k) + k, q = p + half;
                float sin, cos;
                sincospif(-float(k) / half, &sin, &cos);
                float2 a = s[p], b = s[q], t = {b.x * cos - b.y * sin, b.x * sin + b.y * cos};
                s[p] = {a.x + t.x, a.y + t.y}; s[q] = {a.x - t.x, a.y - t.y};
            }
        }
        __syncthreads();
        for (int j = i; j < n; j += blockDim.x) x[blockIdx.x * n + j] = s[j];
    }""")["fft"]
    x = (rng(0).random((2, 256)) + 1j * rng(1).random((2, 256))).astype(np.complex64)
    want = np.fft.fft(x)
    kernel[2, 64, 2048](x.reshape(-1), 8)
    assert np.allclose(x, want, atol=1e-3)


def test_bodies_attract_one_another_in_tiles() -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void attract(const float4 *body, float3 *force, int n, float soft) {
        extern __shared__ float4 tile[];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
        float3 f = {0, 0, 0};
        for (int t = 0; t < n; t += blockDim.x) {
            if (t + threadIdx.x < n) tile[threadIdx.x] = body[t + threadIdx.x];
            __syncthreads();
            #pragma unroll 4
            for (int j = 0; j < min(int(blockDim.x), n - t); ++j) {
                float4 b = tile[j];
                float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
                float r = rsqrtf(dx * dx + dy * dy + dz * dz + soft), w = b.w * r * r * r;
                f.x += dx * w; f.y += dy * w; f.z += dz * w;
            }
            __syncthreads();
        }
        if (i < n) force[i] = f;
    }""")["attract"]
    n = 150
    body, force = rng(0).random((n, 4), np.float32), np.zeros((n, 3), np.float32)
    kernel[3, 64, 1024](body, force, n, 1e-2)
    d = body[None, :, :3].astype(float) - body[:, None, :3]
    want = (d * (body[None, :, 3] / ((d**2).sum(-1) + 1e-2) ** 1.5)[..., None]).sum(1)
    assert np.allclose(force, want, rtol=1e-4, atol=1e-4)


def test_options_are_priced() -> None:
    kernel = gs.cuda("""
    __device__ float cdf(float d) { return 0.5f * erfcf(-d * 0.70710678f); }
    extern "C" __global__ void price(const float *s, const float *k, const float *t, float *call, float *put, int n) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
            float root = sqrtf(t[i]), d1 = (__logf(s[i] / k[i]) + (0.02f + 0.045f) * t[i]) / (0.3f * root);
            float d2 = d1 - 0.3f * root, discount = __expf(-0.02f * t[i]);
            call[i] = s[i] * cdf(d1) - k[i] * discount * cdf(d2);
            put[i] = k[i] * discount * cdf(-d2) - s[i] * cdf(-d1);
        }
    }""")["price"]
    n = 333
    s, k, t = (rng(i).uniform(*r, n).astype(np.float32) for i, r in enumerate([(5, 30), (1, 100), (0.25, 10)]))
    call, put = np.zeros(n, np.float32), np.zeros(n, np.float32)
    kernel[2, 64](s, k, t, call, put, n)
    cdf = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    s, k, t = (v.astype(float) for v in (s, k, t))
    d1 = (np.log(s / k) + 0.065 * t) / (0.3 * np.sqrt(t))
    want = s * cdf(d1) - k * np.exp(-0.02 * t) * cdf(d1 - 0.3 * np.sqrt(t))
    assert np.allclose(call, want, atol=1e-3)
    assert np.allclose(call - put, s - k * np.exp(-0.02 * t), atol=1e-3)


def test_random_numbers_are_drawn_by_a_counter_and_pi_comes_out() -> None:
    kernel = gs.cuda("""
    __device__ uint2 philox(uint2 c, unsigned key) {
        for (int r = 0; r < 10; ++r, key += 0x9E3779B9u)
            c = {__umulhi(0xD256D193u, c.x) ^ key ^ c.y, 0xD256D193u * c.x};
        return c;
    }
    extern "C" __global__ void pi(unsigned long long *inside, int rounds, unsigned seed) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x, in = 0;
        for (int r = 0; r < rounds; ++r) {
            uint2 v = philox({i, unsigned(r)}, seed);
            float x = v.x * 2.3283064e-10f, y = v.y * 2.3283064e-10f;
            in += x * x + y * y <= 1;
        }
        in = __reduce_add_sync(~0u, in);
        if (threadIdx.x % 32 == 0) atomicAdd(inside, (unsigned long long)in);
    }""")["pi"]
    inside = np.zeros(1, np.uint64)
    kernel[8, 128](inside, 100, 5)
    assert abs(4 * int(inside[0]) / (8 * 128 * 100) - math.pi) < 0.03


def test_an_image_is_convolved_in_rows_then_columns() -> None:
    module = gs.cuda("""
    constexpr int R = 4;
    __constant__ float weights[2 * R + 1];
    template <bool ROWS> __global__ void convolve(const float *in, float *out, int w, int h) {
        __shared__ float s[16 + 2 * R * !ROWS][16 + 2 * R * ROWS];
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        for (int o = -R; o <= R; o += R) {
            int step = ROWS ? threadIdx.x : threadIdx.y, at = step + R + 4 * o;
            if (o && (at < 0 || at >= 16 + 2 * R || (at >= R && at < 16 + R))) continue;
            int u = ROWS ? x + 4 * o : x, v = ROWS ? y : y + 4 * o;
            float f = u >= 0 && v >= 0 && u < w && v < h ? in[v * w + u] : 0;
            if (ROWS) s[threadIdx.y][at] = f; else s[at][threadIdx.x] = f;
        }
        __syncthreads();
        float sum = 0;
        #pragma unroll
        for (int k = 0; k <= 2 * R; ++k)
            sum += weights[k] * (ROWS ? s[threadIdx.y][threadIdx.x + k] : s[threadIdx.y + k][threadIdx.x]);
        if (x < w && y < h) out[y * w + x] = sum;
    }""")
    w, h = 45, 33
    image, g = (
        rng(0).random((h, w), np.float32),
        np.exp(-(np.arange(-4, 5) ** 2) / 6).astype(np.float32),
    )
    middle, out = gs.empty((h, w), np.float32), np.zeros((h, w), np.float32)
    for name, source, target in (("convolve<true>", image, middle), ("convolve<false>", middle, out)):
        kernel = module[name]
        kernel.symbol("weights", "float32").copy_from(g)
        kernel[(3, 3), (16, 16)](source, target, w, h)
    rows = np.array([np.convolve(r, g, "same") for r in image.astype(float)])
    assert np.allclose(out, np.array([np.convolve(c, g, "same") for c in rows.T]).T, atol=1e-4)


def test_clusters_of_points_are_found_by_k_means() -> None:
    module = gs.cuda("""
    extern "C" __global__ void assign(const float2 *p, const float2 *c, int *label, float2 *sum, int *count, int n,
                                      int k) {
        extern __shared__ float2 s[];
        int *many = (int *)(s + k), i = blockIdx.x * blockDim.x + threadIdx.x;
        for (int j = threadIdx.x; j < k; j += blockDim.x) { s[j] = {0, 0}; many[j] = 0; }
        __syncthreads();
        if (i < n) {
            float best = 1e30f;
            int which = 0;
            for (int j = 0; j < k; ++j) {
                float dx = p[i].x - c[j].x, dy = p[i].y - c[j].y, d = dx * dx + dy * dy;
                if (d < best) { best = d; which = j; }
            }
            label[i] = which;
            atomicAdd(&s[which].x, p[i].x); atomicAdd(&s[which].y, p[i].y); atomicAdd(&many[which], 1);
        }
        __syncthreads();
        for (int j = threadIdx.x; j < k; j += blockDim.x) {
            atomicAdd(&sum[j].x, s[j].x); atomicAdd(&sum[j].y, s[j].y); atomicAdd(&count[j], many[j]);
        }
    }
    extern "C" __global__ void move(float2 *c, const float2 *sum, const int *count) {
        int j = threadIdx.x;
        if (count[j]) c[j] = {sum[j].x / count[j], sum[j].y / count[j]};
    }""")
    n, k = 400, 4
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]], np.float32)
    points = (centres[rng(0).integers(0, k, n)] + rng(1).normal(0, 0.5, (n, 2))).astype(np.float32)
    c, label = gs.to_device(np.array([[1, 2], [7, 1], [2, 8], [6, 7]], np.float32)), np.zeros(n, np.int32)
    for _ in range(5):
        total, count = gs.to_device(np.zeros((k, 2), np.float32)), gs.to_device(np.zeros(k, np.int32))
        module["assign"][4, 128, 12 * k](points, c, label, total, count, n, k)
        module["move"][1, k](c, total, count)
    assert np.allclose(c.numpy(), [points[label == j].mean(0) for j in range(k)], atol=1e-3)
    assert np.allclose(c.numpy(), centres, atol=0.3)
