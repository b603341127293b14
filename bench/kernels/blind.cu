// Kernels as a model's or a simulation's code has them, to be predicted before they are ever timed.
#include <cuda_fp16.h>

__device__ __forceinline__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ float warp_sum(float v)
{
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__device__ __forceinline__ float warp_max(float v)
{
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

// -- rows -------------------------------------------------------------------------------------------------------------
// A block of 256 for a row of 4096.
extern "C" __global__ void rmsnorm_rows(const float4* __restrict__ in, const float4* __restrict__ weight,
                                        float4* __restrict__ out)
{
    __shared__ float parts[8];
    const float4* row = in + (size_t)blockIdx.x * 1024;
    float4 v[4];
    float s = 0;
    for (int k = 0; k < 4; ++k) {
        v[k] = row[threadIdx.x + k * 256];
        s += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int k = 0; k < 8; ++k) s += parts[k];
    const float scale = rsqrtf(s / 4096 + 1e-6f);
    for (int k = 0; k < 4; ++k) {
        const float4 w = weight[threadIdx.x + k * 256];
        out[(size_t)blockIdx.x * 1024 + threadIdx.x + k * 256] =
            make_float4(v[k].x * scale * w.x, v[k].y * scale * w.y, v[k].z * scale * w.z, v[k].w * scale * w.w);
    }
}
// A warp for a row of 1024 halves, four rows in a block.
extern "C" __global__ void layernorm_half(const half2* __restrict__ in, half2* __restrict__ out)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float2 v[16];
    float s = 0, q = 0;
    for (int k = 0; k < 16; ++k) {
        v[k] = __half22float2(in[(size_t)row * 512 + lane + 32 * k]);
        s += v[k].x + v[k].y;
        q += v[k].x * v[k].x + v[k].y * v[k].y;
    }
    s = warp_sum(s) / 1024;
    q = rsqrtf(warp_sum(q) / 1024 - s * s + 1e-5f);
    for (int k = 0; k < 16; ++k)
        out[(size_t)row * 512 + lane + 32 * k] = __floats2half2_rn((v[k].x - s) * q, (v[k].y - s) * q);
}
// A warp for a row of 512; maximum and sum in one pass.
extern "C" __global__ void softmax_online(const float* __restrict__ in, float* __restrict__ out)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* from = in + (size_t)row * 512;
    float most = -1e30f, sum = 0;
    for (int k = lane; k < 512; k += 32) {
        const float x = from[k], higher = fmaxf(most, x);
        sum = sum * __expf(most - higher) + __expf(x - higher);
        most = higher;
    }
    const float all = warp_max(most);
    sum = warp_sum(sum * __expf(most - all));
    for (int k = lane; k < 512; k += 32) out[(size_t)row * 512 + k] = __expf(from[k] - all) / sum;
}
extern "C" __global__ void argmax_rows(const float* __restrict__ in, int* __restrict__ out, int columns)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float best = -1e30f;
    int where = 0;
    for (int k = lane; k < columns; k += 32) {
        const float x = in[(size_t)row * columns + k];
        if (x > best) { best = x; where = k; }
    }
    for (int d = 16; d; d /= 2) {
        const float other = __shfl_down_sync(~0u, best, d);
        const int there = __shfl_down_sync(~0u, where, d);
        if (other > best) { best = other; where = there; }
    }
    if (lane == 0) out[row] = where;
}
// 1024 columns to bytes with a scale for each row.
extern "C" __global__ void quantize_rows(const float4* __restrict__ in, char4* __restrict__ out, float* scales)
{
    __shared__ float parts[8];
    const float4 v = in[(size_t)blockIdx.x * 256 + threadIdx.x];
    float most = warp_max(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    for (int k = 0; k < 8; ++k) most = fmaxf(most, parts[k]);
    const float by = most > 0 ? 127 / most : 0;
    out[(size_t)blockIdx.x * 256 + threadIdx.x] =
        make_char4(__float2int_rn(v.x * by), __float2int_rn(v.y * by), __float2int_rn(v.z * by), __float2int_rn(v.w * by));
    if (threadIdx.x == 0) scales[blockIdx.x] = most / 127;
}
extern "C" __global__ void matvec_warps(const float4* __restrict__ a, const float4* __restrict__ x, float* y)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float s = 0;
    for (int k = lane; k < 1024; k += 32) {
        const float4 u = a[(size_t)row * 1024 + k], v = x[k];
        s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    s = warp_sum(s);
    if (lane == 0) y[row] = s;
}

// -- element by element -----------------------------------------------------------------------------------------------
extern "C" __global__ void gelu_half2(const half2* __restrict__ in, half2* __restrict__ out, int n)
{
    const int i = thread();
    if (i >= n) return;
    const float2 x = __half22float2(in[i]);
    const float a = x.x * 0.5f * (1 + tanhf(0.7978845608f * (x.x + 0.044715f * x.x * x.x * x.x)));
    const float b = x.y * 0.5f * (1 + tanhf(0.7978845608f * (x.y + 0.044715f * x.y * x.y * x.y)));
    out[i] = __floats2half2_rn(a, b);
}
extern "C" __global__ void rotary(float2* q, int n)
{
    const int i = thread();
    if (i >= n) return;
    const int pair = i % 64, position = i / 64 % 2048;
    const float angle = position * exp2f(-13.287712f * pair / 64);
    const float c = __cosf(angle), s = __sinf(angle);
    const float2 v = q[i];
    q[i] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}
extern "C" __global__ void black_scholes(const float* __restrict__ price, const float* __restrict__ strike,
                                         const float* __restrict__ years, float* call, float* put, int n)
{
    const int i = thread();
    if (i >= n) return;
    const float s = price[i] + 1, k = strike[i] + 1, t = years[i] + 0.5f, root = sqrtf(t);
    const float d1 = (logf(s / k) + (0.02f + 0.045f) * t) / (0.3f * root), d2 = d1 - 0.3f * root;
    const float n1 = normcdff(d1), n2 = normcdff(d2), discount = k * expf(-0.02f * t);
    call[i] = s * n1 - discount * n2;
    put[i] = discount * (1 - n2) - s * (1 - n1);
}
extern "C" __global__ void polynomial_f64(const double* __restrict__ in, double* __restrict__ out, int n)
{
    const int i = thread();
    if (i >= n) return;
    const double x = in[i];
    double s = 1.0;
#pragma unroll
    for (int k = 0; k < 64; ++k) s = fma(s, x, 1.0 / (k + 1));
    out[i] = s;
}
extern "C" __global__ void random_fill(unsigned* out, int n)
{
    const int i = thread();
    if (i >= n) return;
    unsigned s = i * 2654435761u + 1;
    for (int k = 0; k < 48; ++k) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
    }
    out[i] = s;
}
extern "C" __global__ void dot_bytes(const int4* __restrict__ a, const int4* __restrict__ b, int* out)
{
    int s = 0;
    for (int k = 0; k < 8; ++k) {
        const size_t at = ((size_t)blockIdx.x * 8 + k) * blockDim.x + threadIdx.x;
        const int4 u = a[at], v = b[at];
        s = __dp4a(u.x, v.x, s);
        s = __dp4a(u.y, v.y, s);
        s = __dp4a(u.z, v.z, s);
        s = __dp4a(u.w, v.w, s);
    }
    out[thread()] = s;
}

// -- divergence, indirection, atomics ---------------------------------------------------------------------------------
extern "C" __global__ void mandelbrot(int* out, int width, int height)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    const float cx = -2.0f + 3.0f * px / width, cy = -1.2f + 2.4f * py / height;
    float x = 0, y = 0;
    int k = 0;
    for (; k < 256 && x * x + y * y < 4; ++k) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    out[py * width + px] = k;
}
extern "C" __global__ void spmv_rows(const int* __restrict__ columns, const float* __restrict__ values,
                                     const float* __restrict__ x, float* y, int rows)
{
    const int row = thread();
    if (row >= rows) return;
    float s = 0;
    for (int k = 0; k < 16; ++k) s += values[row * 16 + k] * x[columns[row * 16 + k]];
    y[row] = s;
}
extern "C" __global__ void embedding(const float4* __restrict__ table, const int* __restrict__ ids, float4* out)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 64;
    out[(size_t)row * 64 + threadIdx.x % 64] = table[(size_t)ids[row] * 64 + threadIdx.x % 64];
}
extern "C" __global__ void scatter_add(const float* __restrict__ in, const int* __restrict__ where, float* sums, int n)
{
    const int i = thread();
    if (i < n) atomicAdd(sums + where[i], in[i]);
}
extern "C" __global__ void compact(const float* __restrict__ in, float* out, int* count, int n)
{
    __shared__ int before[9];
    const int i = thread(), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool kept = i < n && in[i] > 0;
    const unsigned who = __ballot_sync(~0u, kept);
    if (lane == 0) before[warp + 1] = __popc(who);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 1; k <= 8; ++k) { const int own = before[k]; before[k] = sum; sum += own; }
        before[0] = atomicAdd(count, sum);
    }
    __syncthreads();
    // Launched again and again, the count goes on: the place wraps round.
    if (kept) out[(before[0] + before[warp + 1] + __popc(who & ((1u << lane) - 1))) % n] = in[i];
}
extern "C" __global__ void bitonic_shared(int* data)
{
    __shared__ int tile[1024];
    int* own = data + (size_t)blockIdx.x * 1024;
    tile[threadIdx.x] = own[threadIdx.x];
    tile[threadIdx.x + 512] = own[threadIdx.x + 512];
    for (int size = 2; size <= 1024; size *= 2) {
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            const int low = 2 * threadIdx.x - (threadIdx.x & (step - 1)), high = low + step;
            const int a = tile[low], b = tile[high];
            const bool up = (low & size) == 0;
            if ((a > b) == up) { tile[low] = b; tile[high] = a; }
        }
    }
    __syncthreads();
    own[threadIdx.x] = tile[threadIdx.x];
    own[threadIdx.x + 512] = tile[threadIdx.x + 512];
}

// -- tiles ------------------------------------------------------------------------------------------------------------
extern "C" __global__ void nbody(const float4* __restrict__ bodies, float4* out, int n)
{
    __shared__ float4 tile[256];
    const float4 me = bodies[thread()];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < n; start += 256) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 256; ++k) {
            const float4 it = tile[k];
            const float dx = it.x - me.x, dy = it.y - me.y, dz = it.z - me.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            const float f = it.w * inverse * inverse * inverse;
            ax += dx * f; ay += dy * f; az += dz * f;
        }
        __syncthreads();
    }
    out[thread()] = make_float4(ax, ay, az, 0);
}
// 32×32 of C for 16×16 threads, four elements each.
extern "C" __global__ void matmul_two_by_two(const float* __restrict__ a, const float* __restrict__ b, float* c, int n)
{
    __shared__ float ta[32][33], tb[32][32];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
    float s[2][2] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j) {
                ta[ty + 16 * i][tx + 16 * j] = a[(row + ty + 16 * i) * n + k0 + tx + 16 * j];
                tb[ty + 16 * i][tx + 16 * j] = b[(k0 + ty + 16 * i) * n + column + tx + 16 * j];
            }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) s[i][j] += ta[ty + 16 * i][k] * tb[k][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) c[(row + ty + 16 * i) * n + column + tx + 16 * j] = s[i][j];
}
extern "C" __global__ void matmul_half_naive(const half* __restrict__ a, const half* __restrict__ b, float* c, int n)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; ++k) s += __half2float(a[row * n + k]) * __half2float(b[k * n + column]);
    c[row * n + column] = s;
}
extern "C" __global__ void transpose_half(const half* __restrict__ in, half* __restrict__ out, int n)
{
    __shared__ half tile[64][66];
    for (int k = threadIdx.y; k < 64; k += 8)
        for (int j = threadIdx.x; j < 64; j += 32)
            tile[k][j] = in[(size_t)(blockIdx.y * 64 + k) * n + blockIdx.x * 64 + j];
    __syncthreads();
    for (int k = threadIdx.y; k < 64; k += 8)
        for (int j = threadIdx.x; j < 64; j += 32)
            out[(size_t)(blockIdx.x * 64 + k) * n + blockIdx.y * 64 + j] = tile[j][k];
}
extern "C" __global__ void stencil_3d(const float* __restrict__ in, float* __restrict__ out, int n)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == (int)gridDim.z - 1) return;
    const int i = (z * n + y) * n + x, layer = n * n;
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - layer] + in[i + layer]);
}
__constant__ float taps[33] = {1, 2, 3, 4, 5, 6, 7, 8};
extern "C" __global__ void convolve_shared(const float* __restrict__ in, float* __restrict__ out)
{
    __shared__ float tile[256 + 32];
    const int start = blockIdx.x * 256;
    for (int k = threadIdx.x; k < 288; k += 256) tile[k] = in[start + k];
    __syncthreads();
    float s = 0;
#pragma unroll
    for (int k = 0; k < 33; ++k) s += taps[k] * tile[threadIdx.x + k];
    out[start + threadIdx.x] = s;
}
extern "C" __global__ void jacobi_shared(const float* __restrict__ in, float* __restrict__ out, int n)
{
    __shared__ float tile[18][18];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, w = n + 2;
    const int id = threadIdx.y * 16 + threadIdx.x;
    for (int k = id; k < 18 * 18; k += 256)
        tile[k / 18][k % 18] = in[(blockIdx.y * 16 + k / 18) * w + blockIdx.x * 16 + k % 18];
    __syncthreads();
    const int r = threadIdx.y + 1, c = threadIdx.x + 1;
    out[(y + 1) * w + x + 1] = 0.25f * (tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1]);
}
