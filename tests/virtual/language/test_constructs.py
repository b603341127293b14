"""CUDA C++ as people write it: divergent loops, memory of every kind, vectors, templates, grids of three dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs


def zeros(n: int, dtype: str = "int32") -> np.ndarray:
    return np.zeros(n, dtype)


def numbers(n: int, low: int, high: int, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(n).integers(low, high, n).astype(dtype)


def test_divergent_loops_with_break_and_continue(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *a, int *o, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        int s = 0;
        for (int j = 0; j < (a[i] & 31); ++j) {
            if ((j ^ i) & 1) continue;
            s += a[(i + j) % n];
            if (s > 1000) break;
            for (int x = a[(i * 7 + j) % n]; x > 1; x = x & 1 ? 3 * x + 1 : x / 2) if (++s % 97 == 0) goto out;
        }
        out: o[i] = s;
    }""")["k"]
    n = 700
    a, out = numbers(n, 0, 300), zeros(n)

    def expected(i: int) -> int:
        s = 0
        for j in range(a[i] & 31):
            if (j ^ i) & 1:
                continue
            s += int(a[(i + j) % n])
            if s > 1000:
                break
            x = int(a[(i * 7 + j) % n])
            while x > 1:
                s += 1
                if s % 97 == 0:
                    return s
                x = 3 * x + 1 if x & 1 else x // 2
        return s

    kernel[6, 128](a, out, n)
    assert out.tolist() == [expected(i) for i in range(n)]


def test_a_switch_and_an_interpreter_loop(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const unsigned char *code, int *o) {
        int pc = threadIdx.x, acc = threadIdx.x;
        for (int step = 0; step < 40; ++step) {
            switch (code[pc % 64]) {
                case 0: acc += 3; ++pc; break;
                case 1: acc *= 5; pc += 2; break;
                case 2: acc ^= pc; // falls on
                case 3: pc += acc & 7; break;
                case 4: if (acc & 1) { o[threadIdx.x] = acc; return; } ++acc; ++pc; break;
                case 5: acc = -acc; ++pc; break;
                case 6: pc = acc & 63; acc >>= 1; break;
                default: acc -= step; pc += 3;
            }
        }
        o[threadIdx.x] = acc;
    }""")["k"]
    code, out = numbers(64, 0, 9, "uint8"), zeros(96)

    def expected(t: int) -> int:
        pc = acc = t
        for step in range(40):
            op = code[pc % 64]
            if op == 0:
                acc, pc = acc + 3, pc + 1
            elif op == 1:
                acc, pc = acc * 5, pc + 2
            elif op in (2, 3):
                acc = acc ^ pc if op == 2 else acc
                pc += acc & 7
            elif op == 4:
                if acc & 1:
                    return acc
                acc, pc = acc + 1, pc + 1
            elif op == 5:
                acc, pc = -acc, pc + 1
            elif op == 6:
                pc, acc = acc & 63, acc >> 1
            else:
                acc, pc = acc - step, pc + 3
            acc = (acc + 2**31) % 2**32 - 2**31
        return acc

    kernel[1, 96](code, out)
    assert out.tolist() == [expected(t) for t in range(96)]


def test_local_arrays_with_indices_known_only_at_run_time(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *x, int *o, int n) {
        int count[16]; short last[16]; double sum[16];
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        for (int i = 0; i < 16; ++i) { count[i] = 0; last[i] = -1; sum[i] = 0; }
        for (int i = 0; i < n; ++i) { int b = (x[i] * (t + 1)) & 15; ++count[b]; last[b] = i; sum[b] += 0.5 * i; }
        int best = 0;
        for (int i = 1; i < 16; ++i) if (count[i] > count[best]) best = i;
        o[3 * t] = count[best]; o[3 * t + 1] = last[best]; o[3 * t + 2] = (int)(2 * sum[best]);
    }""")["k"]
    x, out = numbers(50, 0, 1000), zeros(3 * 80)
    kernel[2, 40](x, out, 50)
    for t in range(80):
        bins = x * (t + 1) & 15
        best = int(np.argmax(np.bincount(bins, minlength=16)))
        where = np.flatnonzero(bins == best)
        assert out[3 * t : 3 * t + 3].tolist() == [len(where), where[-1], where.sum()]


def test_constant_memory_and_device_variables(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda("""
    __constant__ float weights[5] = {1, 2, 3};
    __device__ int hits = 7;
    static __device__ unsigned long long table[4] = {1, 1ull << 40, 3};
    __device__ const char *message = "grid";
    extern "C" __global__ void k(const int *which, float *o, unsigned long long *p, char *c) {
        int t = threadIdx.x;
        o[t] = weights[which[t]] + weights[4];
        p[t] = table[t & 3];
        c[t] = message[t & 3];
        atomicAdd(&hits, which[t]);
    }""")
    which, out, table, text = numbers(64, 0, 5), zeros(64, "float32"), zeros(64, "uint64"), zeros(64, "uint8")
    weights = module.symbol("weights", "float32")
    assert weights.numpy().tolist() == [1, 2, 3, 0, 0]
    now = np.array([4, 5, 6, 7, 0.5], np.float32)
    weights.copy_from(now)
    module["k"][1, 64](which, out, table, text)
    assert (out == now[which] + now[4]).all()
    assert (table == np.array([1, 1 << 40, 3, 0], np.uint64)[np.arange(64) & 3]).all()
    assert text.tobytes() == b"grid" * 16
    assert module.symbol("hits", "int32").numpy().tolist() == [7 + which.sum()]


def test_dynamic_shared_memory_cut_into_parts(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o, int n) {
        extern __shared__ double room[];
        __shared__ int fixed[3];
        double *a = room; int *b = (int *)(a + n); short *c = (short *)(b + n);
        int t = threadIdx.x;
        if (t < 3) fixed[t] = t + 1;
        if (t < n) { a[t] = 0.5 * t; b[n - 1 - t] = t; c[t] = -t; }
        __syncthreads();
        if (t < n) o[t] = (int)(2 * a[n - 1 - t]) + 10 * b[t] + 100 * c[t] + 1000 * fixed[t % 3];
    }""")["k"]
    n = 70
    out, t = zeros(n), np.arange(n)
    kernel[1, 96, n * 14](out, n)
    assert (out == (n - 1 - t) + 10 * (n - 1 - t) - 100 * t + 1000 * (t % 3 + 1)).all()


def test_templates_by_name_expression(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda("""
    template <typename T, int N> __global__ void rotate(T *x) {
        __shared__ T s[N];
        int t = threadIdx.x;
        s[t] = x[blockIdx.x * N + t];
        __syncthreads();
        x[blockIdx.x * N + t] = s[(t + N / 2 + 1) % N] * T(2);
    }""")
    for name, n, dtype in (
        ("float, 48", 48, "float32"),
        ("double, 7", 7, "float64"),
        ("unsigned char, 64", 64, "uint8"),
    ):
        x = numbers(3 * n, 0, 100, dtype)
        want = 2 * np.roll(x.reshape(3, n), -(n // 2 + 1), axis=1).ravel()
        module[f"rotate<{name}>"][3, n](x)
        assert (x == want).all(), name


def test_grids_and_blocks_of_three_dimensions(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o, int nx, int ny, int nz) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        if (x < nx && y < ny && z < nz)
            o[((long long)z * ny + y) * nx + x] = x + 100 * y + 10000 * z
                + 1000000 * (gridDim.x + gridDim.y + gridDim.z);
    }""")["k"]
    nx, ny, nz = 13, 10, 9
    z, y, x = np.mgrid[:nz, :ny, :nx]
    for block in ((4, 4, 4), (32, 1, 2), (5, 3, 2), (1, 8, 1), (16, 2, 1), (3, 1, 11)):
        grid = tuple(-(-n // b) for n, b in zip((nx, ny, nz), block, strict=True))
        out = zeros(nx * ny * nz)
        kernel[grid, block](out, nx, ny, nz)
        assert (out == (x + 100 * y + 10000 * z + 1000000 * sum(grid)).ravel()).all(), block


def test_vectors_and_packed_bytes(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    extern "C" __global__ void k(const float4 *a, float4 *b, const uchar4 *c, char2 *d, const double2 *e, double *f,
                                 longlong2 *g, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t >= n) return;
        float4 v = a[t]; uchar4 q = c[n - 1 - t]; double2 w = e[t ^ 1];
        b[t] = make_float4(v.w, v.x + 1, v.y, v.z * 2);
        d[t] = make_char2(q.x + q.w, q.y - q.z);
        f[t] = w.x * w.y;
        g[t] = make_longlong2(((long long)q.x << 33) - t, t);
    }""")["k"]
    n = 90
    a, c = numbers(4 * n, -9, 9, "float32"), numbers(4 * n, 0, 256, "uint8")
    e = numbers(2 * n, -99, 99, "float64")
    b, d, f, g = zeros(4 * n, "float32"), zeros(2 * n, "int8"), zeros(n, "float64"), zeros(2 * n, "int64")
    kernel[3, 32](a, b, c, d, e, f, g, n)
    v, q, w = a.reshape(n, 4), c.reshape(n, 4)[::-1].astype(int), e.reshape(n, 2)[np.arange(n) ^ 1]
    assert (b.reshape(n, 4) == np.stack([v[:, 3], v[:, 0] + 1, v[:, 1], v[:, 2] * 2], 1)).all()
    assert (d.reshape(n, 2) == np.stack([q[:, 0] + q[:, 3], q[:, 1] - q[:, 2]], 1).astype(np.int8)).all()
    assert (f == w[:, 0] * w[:, 1]).all()
    assert (g.reshape(n, 2) == np.stack([(q[:, 0] << 33) - np.arange(n), np.arange(n)], 1)).all()


@pytest.mark.parametrize("stride", [1, -1, 2, 3, 17])
def test_indices_of_64_bits_and_indices_that_wrap(gpu: gs.VirtualGPU, stride: int) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const int *x, int *a, int *b, int *c, int *d, int stride, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        long long i = (long long)stride * t + 2000;
        unsigned u = 4000000000u + 100000000u * t;              // wraps after three threads
        int s = 2147483600 + 40 * t;                            // the same for signed, by hand
        a[t] = x[i % n];
        b[t] = (int)((unsigned long long)u >> 8);
        c[t] = x[(unsigned)s % n];
        const int *p = x + n;
        for (int j = 0; j < t % 4; ++j) p -= t + 1;
        d[t] = p[-1 - t];
    }""")["k"]
    n, t = 3001, np.arange(128, dtype=np.int64)
    x = numbers(n, -1000, 1000)
    a, b, c, d = (zeros(128) for _ in range(4))
    kernel[2, 64](x, a, b, c, d, stride, n)
    assert (a == x[(stride * t + 2000) % n]).all()
    assert (b == (4000000000 + 100000000 * t) % 2**32 // 256).all()
    assert (c == x[(2147483600 + 40 * t) % 2**32 % n]).all()
    assert (d == x[n - (t % 4) * (t + 1) - 1 - t]).all()


def test_structs_of_many_kinds_as_parameters(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    struct View { int *data; int rows, cols; long long pitch; };
    struct Options { char mode; double scale; short steps[3]; };
    extern "C" __global__ void k(View v, Options o, bool negate, unsigned char add) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= v.rows * v.cols) return;
        int *p = (int *)((char *)v.data + (i / v.cols) * v.pitch) + i % v.cols;
        int value = (int)(*p * o.scale) + o.steps[i % 3] + o.mode + add;
        *p = negate ? -value : value;
    }""")["k"]
    x = numbers(6 * 16, 0, 50).reshape(6, 16)
    device = gs.to_device(x)
    view = np.array((device.address, 6, 11, 64), np.dtype("u8, i4, i4, i8", align=True))
    options = np.array((3, 2.5, (10, 20, 30)), np.dtype("i1, f8, (3,)i2", align=True))
    kernel[2, 40](view, options, True, 200)
    want = x.copy()
    i = np.arange(66).reshape(6, 11)
    want[:, :11] = -((x[:, :11] * 2.5).astype(int) + np.array([10, 20, 30])[i % 3] + 203)
    assert (device.numpy() == want).all()
