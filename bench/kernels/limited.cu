// Kernels that each have one limiter. `n` is how many rounds a thread makes; `out` is written so that nothing is
// optimised away, under a condition that never holds.

__device__ __forceinline__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int threads() { return gridDim.x * blockDim.x; }

// -- memory bandwidth -------------------------------------------------------------------------------------------------
extern "C" __global__ void dram_copy(const float4* __restrict__ in, float4* __restrict__ out, int n)
{
    for (int r = 0; r < n; ++r) out[(size_t)r * threads() + thread()] = in[(size_t)r * threads() + thread()];
}
extern "C" __global__ void dram_read(const float4* __restrict__ in, float4* __restrict__ out, int n)
{
    float4 s = {};
    for (int r = 0; r < n; ++r) {
        const float4 v = in[(size_t)r * threads() + thread()];
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    if (s.x + s.y + s.z + s.w == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void dram_write(float4* __restrict__ out, int n)
{
    for (int r = 0; r < n; ++r) out[(size_t)r * threads() + thread()] = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void dram_triad(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                      int n)
{
    for (int r = 0; r < n; ++r) {
        const size_t i = (size_t)r * threads() + thread();
        c[i] = a[i] + 3.0f * b[i];
    }
}
// One sector for each lane: a quarter of what is moved is used.
extern "C" __global__ void dram_strided(const float* __restrict__ in, float* __restrict__ out, int n)
{
    float s = 0;
    for (int r = 0; r < n; ++r) s += in[((size_t)r * threads() + thread()) * 8];
    if (s == 12345.0f) out[thread()] = s;
}
// The array fits L2, and L1 is passed by.
extern "C" __global__ void l2_read(const float4* in, float4* out, int n, int mask)
{
    float4 s = {};
    for (int r = 0; r < n; ++r) {
        const float4 v = __ldcg(in + ((r * threads() + thread() * 1) & mask));
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    if (s.x + s.y + s.z + s.w == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void l2_write(float4* out, int n, int mask)
{
    for (int r = 0; r < n; ++r) out[(r * threads() + thread()) & mask] = make_float4(1, 2, 3, 4);
}
// 8 KB that every block reads again and again: L1 serves it.
extern "C" __global__ void l1_read(const float* in, float* out, int n)
{
    float s = 0;
    for (int r = 0; r < n; ++r) s += __ldca(in + ((threadIdx.x + r * 32) & 2047));
    if (s == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void l1_read4(const float4* in, float4* out, int n)
{
    float4 s = {};
    for (int r = 0; r < n; ++r) {
        const float4 v = __ldca(in + ((threadIdx.x + r * 32) & 511));
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    if (s.x + s.y + s.z + s.w == 12345.0f) out[thread()] = s;
}
// 32 lines for every request: one tag after the other is looked up.
extern "C" __global__ void l1_columns(const float* in, float* out, int n)
{
    float s = 0;
    for (int r = 0; r < n; ++r) s += __ldca(in + (threadIdx.x % 32) * 32 + (r & 31));
    if (s == 12345.0f) out[thread()] = s;
}

// -- shared memory ----------------------------------------------------------------------------------------------------
extern "C" __global__ void shared_read(float* out, int n, int stride)
{
    __shared__ float tile[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) tile[i] = i;
    __syncthreads();
    float s = 0;
    int at = threadIdx.x * stride;
    for (int r = 0; r < n; ++r) {
        s += tile[at & 8191];
        at += 32 * 32;
    }
    if (s == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void shared_read4(float4* out, int n)
{
    __shared__ float4 tile[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) tile[i] = make_float4(i, i, i, i);
    __syncthreads();
    float4 s = {};
    for (int r = 0; r < n; ++r) {
        const float4 v = tile[(threadIdx.x + r * 32) & 2047];
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    if (s.x + s.y + s.z + s.w == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void shared_write(float* out, int n, int stride)
{
    __shared__ float tile[8192];
    for (int r = 0; r < n; ++r) tile[(threadIdx.x * stride + r * 1024) & 8191] = r;
    __syncthreads();
    if (tile[threadIdx.x] == -1.0f) out[thread()] = tile[threadIdx.x];
}
extern "C" __global__ void barriers(float* out, int n)
{
    __shared__ float tile[1024];
    for (int r = 0; r < n; ++r) {
        tile[threadIdx.x] = r;
        __syncthreads();
    }
    if (tile[0] == -1.0f) out[thread()] = 1;
}

// -- arithmetic -------------------------------------------------------------------------------------------------------
#define EIGHT(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)
template <typename T> __device__ __forceinline__ void finish(const T (&s)[8], T* out)
{
    T total = s[0];
    for (int i = 1; i < 8; ++i) total = total + s[i];
    if (total == T(12345)) out[thread()] = total;
}
extern "C" __global__ void fp32_fma(float* out, int n, float a, float b)
{
    float s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i] = fmaf(s[i], a, b);
    }
    finish(s, out);
}
extern "C" __global__ void fp32_add(float* out, int n, float a, float b)
{
    float s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i] = __fadd_rn(s[i], b);
    }
    finish(s, out);
}
extern "C" __global__ void fp64_fma(double* out, int n, double a, double b)
{
    double s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i] = fma(s[i], a, b);
    }
    finish(s, out);
}
extern "C" __global__ void integer_mad(int* out, int n, int a, int b)
{
    int s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i] = s[i] * a + b;
    }
    finish(s, out);
}
extern "C" __global__ void integer_logic(int* out, int n, int a, int b)
{
    int s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) s[i] = (s[i] ^ a) + b;
    }
    finish(s, out);
}
extern "C" __global__ void special(float* out, int n, float a)
{
    float s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(s[i]));
    }
    finish(s, out);
}
extern "C" __global__ void special_rsqrt(float* out, int n, float a)
{
    float s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(s[i]));
    }
    finish(s, out);
}
extern "C" __global__ void half2_fma(unsigned* out, int n, unsigned a, unsigned b)
{
    unsigned s[8];
    for (int i = 0; i < 8; ++i) s[i] = a + i + threadIdx.x;
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(s[i]) : "r"(a), "r"(b));
    }
    finish(s, out);
}
// One chain: every multiply-add waits for the one before.
extern "C" __global__ void fma_chain(float* out, int n, float a, float b)
{
    float s = threadIdx.x;
    for (int r = 0; r < n; ++r) s = fmaf(s, a, b);
    if (s == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void tensor_f16(float* out, int n, unsigned a)
{
    float c[4][4] = {};
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
                         "{%0,%1,%2,%3};" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3]) : "r"(a));
    }
    if (c[0][0] + c[1][1] + c[2][2] + c[3][3] == 12345.0f) out[thread()] = c[0][0];
}
extern "C" __global__ void tensor_tf32(float* out, int n, unsigned a)
{
    float c[4][4] = {};
    for (int r = 0; r < n; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
                         "{%0,%1,%2,%3};" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3]) : "r"(a));
    }
    if (c[0][0] + c[1][1] + c[2][2] + c[3][3] == 12345.0f) out[thread()] = c[0][0];
}

// -- divergence, latency, atomics -------------------------------------------------------------------------------------
// Lanes take `ways` different branches of the same cost.
extern "C" __global__ void divergent(float* out, int n, float a, int ways)
{
    float s = threadIdx.x;
    const int way = threadIdx.x % ways;
    for (int r = 0; r < n; ++r) {
        switch (way) {
#define WAY(k) case k: for (int i = 0; i < 8; ++i) s = fmaf(s, a + k, s * k + 1.0f); break;
            EIGHT(WAY)
        }
    }
    if (s == 12345.0f) out[thread()] = s;
}
extern "C" __global__ void chase_global(const int* next, int* out, int n)
{
    int at = thread() * 64;
    for (int r = 0; r < n; ++r) at = __ldcg(next + at);
    if (at == -1) out[thread()] = at;
}
extern "C" __global__ void chase_l1(const int* next, int* out, int n)
{
    int at = threadIdx.x;
    for (int r = 0; r < n; ++r) at = __ldca(next + at);
    if (at == -1) out[thread()] = at;
}
extern "C" __global__ void chase_shared(int* out, int n)
{
    __shared__ int next[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i + 32) & 1023;
    __syncthreads();
    int at = threadIdx.x;
    for (int r = 0; r < n; ++r) at = next[at];
    if (at == -1) out[thread()] = at;
}
extern "C" __global__ void atomic_one(int* out, int n)
{
    for (int r = 0; r < n; ++r) atomicAdd(out, r + (int)threadIdx.x);
}
extern "C" __global__ void atomic_spread(int* out, int n, int mask)
{
    for (int r = 0; r < n; ++r) atomicAdd(out + ((thread() + r * 1024) & mask), r);
}
extern "C" __global__ void atomic_scattered(int* out, int n, int mask)
{
    unsigned at = thread() * 2654435761u;
    for (int r = 0; r < n; ++r) {
        at = at * 1664525u + 1013904223u;
        atomicAdd(out + (at >> 8 & mask), r);
    }
}
extern "C" __global__ void atomic_shared(int* out, int n, int lanes)
{
    __shared__ int bins[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int r = 0; r < n; ++r) atomicAdd(bins + (threadIdx.x / lanes + r & 1023), r);
    __syncthreads();
    if (bins[threadIdx.x] == -1) out[thread()] = 1;
}
extern "C" __global__ void empty() {}

// Waits, so that what is launched next queues up behind it.
extern "C" __global__ void hold(long long clocks)
{
    const long long start = clock64();
    while (clock64() - start < clocks) {}
}
