// Small real kernels of the kinds that people write, for counting.
#include <cuda_fp16.h>
#include <mma.h>

struct Particle { float x, y, z, mass; float vx, vy, vz, spare; };

extern "C" __global__ void histogram(const unsigned char* data, int* bins, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1);
}
extern "C" __global__ void histogram_shared(const unsigned char* data, int* bins, int n)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" __global__ void tickets(int* counter, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = atomicExch(&counter[i % 97], i);
}
extern "C" __global__ void gather(const float* __restrict__ table, const int* __restrict__ where, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[where[i]];
}
extern "C" __global__ void scatter(const float* __restrict__ in, const int* __restrict__ where, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[where[i]] = in[i];
}
extern "C" __global__ void particles_aos(Particle* p, int n, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += p[i].vx * dt;
        p[i].y += p[i].vy * dt;
        p[i].z += p[i].vz * dt;
    }
}
extern "C" __global__ void particles_soa(float* x, float* y, float* z, const float* vx, const float* vy, const float* vz,
                                         int n, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += vx[i] * dt;
        y[i] += vy[i] * dt;
        z[i] += vz[i] * dt;
    }
}
extern "C" __global__ void collatz(const int* start, int* steps, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = start[i];
    int count = 0;
    while (v != 1) {
        if (v & 1) v = 3 * v + 1; else v /= 2;
        ++count;
    }
    steps[i] = count;
}
__constant__ float weights[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
extern "C" __global__ void filter(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < 9; ++k) s += weights[k] * in[min(max(i + k - 4, 0), n - 1)];
    if (i < n) out[i] = s;
}
// An array that is indexed by what is only known at run time lies in local memory.
extern "C" __global__ void local_sort(const int* in, int* out, int n)
{
    int own[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; ++k) own[k] = in[(i * 16 + k) % n];
#pragma unroll 1
    for (int a = 1; a < 16; ++a) {
        const int v = own[a];
        int b = a - 1;
#pragma unroll 1
        while (b >= 0 && own[b] > v) { own[b + 1] = own[b]; --b; }
        own[b + 1] = v;
    }
    out[i] = own[in[i % n] & 15];
}
extern "C" __global__ void scan(const int* in, int* out)
{
    __shared__ int sums[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += other;
        }
        sums[lane] = s;
    }
    __syncthreads();
    out[i] = v + (warp ? sums[warp - 1] : 0);
}
extern "C" __global__ void softmax_rows(const float* in, float* out, int columns)
{
    __shared__ float part[8];
    const float* row = in + blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, row[c]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) most = fmaxf(most, part[w]);
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += part[w];
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = __expf(row[c] - most) / sum;
}
// One warp for each 16 x 16 tile of C; operands straight from global memory.
extern "C" __global__ void wmma_global(const half* a, const half* b, float* c, int n)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + blockIdx.y * 16 * n + k, n);
        load_matrix_sync(fb, b + k * n + blockIdx.x * 16, n);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, mem_row_major);
}
extern "C" __global__ void wmma_columns(const half* a, const half* b, float* c, int n)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, col_major> fa;
    fragment<matrix_b, 16, 16, 16, half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    load_matrix_sync(fc, c + blockIdx.y * 16 * n + blockIdx.x * 16, n, mem_row_major);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + blockIdx.y * 16 + k * n, n);
        load_matrix_sync(fb, b + k + blockIdx.x * 16 * n, n);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, mem_row_major);
}
extern "C" __global__ void wmma_shared(const half* a, const half* b, float* c, int n)
{
    using namespace nvcuda::wmma;
    __shared__ alignas(16) half ta[16 * 24], tb[16 * 16];
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    const int lane = threadIdx.x, row = lane / 2, column = lane % 2 * 8;
    for (int k = 0; k < n; k += 16) {
        *(int4*)(ta + row * 24 + column) = *(const int4*)(a + (blockIdx.y * 16 + row) * n + k + column);
        *(int4*)(tb + row * 16 + column) = *(const int4*)(b + (k + row) * n + blockIdx.x * 16 + column);
        __syncwarp();
        load_matrix_sync(fa, ta, 24);
        load_matrix_sync(fb, tb, 16);
        mma_sync(fc, fa, fb, fc);
        __syncwarp();
    }
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, mem_row_major);
}
__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void ldmatrix_mma(const half* a, const half* b, float* c)
{
    __shared__ alignas(16) half ta[16 * 16], tb[8 * 16];
    const int lane = threadIdx.x;
    *(int4*)(ta + lane * 8) = *(const int4*)(a + lane * 8);
    if (lane < 16) *(int4*)(tb + lane * 8) = *(const int4*)(b + lane * 8);
    __syncwarp();
    unsigned fa[4], fb[2];
    float fc[4] = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(shared_address(ta + lane % 16 * 16 + lane / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
        : "=r"(fb[0]), "=r"(fb[1]) : "r"(shared_address(tb + lane % 8 * 16 + lane / 8 % 2 * 8)));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(fc[0]), "+f"(fc[1]), "+f"(fc[2]), "+f"(fc[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = fc[i];
}
extern "C" __global__ void async_copies(const float* in, float* out)
{
    __shared__ alignas(16) float tile[2][256 * 4];
    const int t = threadIdx.x;
    const float* from = in + blockIdx.x * 2048;
    for (int s = 0; s < 2; ++s) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
            :: "r"(shared_address(&tile[s][t * 4])), "l"(from + s * 1024 + t * 4));
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int s = 0; s < 2; ++s) for (int k = 0; k < 4; ++k) out[blockIdx.x * 2048 + s * 1024 + k * 256 + t] = tile[s][k * 256 + t];
}
extern "C" __global__ void async_words(const float* in, float* out)
{
    __shared__ alignas(16) float tile[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int r = y; r < 32; r += 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
            :: "r"(shared_address(&tile[r][x])), "l"(in + (blockIdx.y * 32 + r) * 64 + blockIdx.x * 32 + x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int r = y; r < 32; r += 8) out[(blockIdx.x * 32 + r) * 64 + blockIdx.y * 32 + x] = tile[x][r];
}
// Boxes of 16 x 32 floats through the tensor memory accelerator.
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void tensor_boxes(const __grid_constant__ Map from, float* out)
{
    __shared__ alignas(1024) float tile[16 * 32];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(shared_address(&bar)));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 2048;" :: "r"(shared_address(&bar)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3}], [%4];" :: "r"(shared_address(tile)), "l"(&from), "r"(blockIdx.x * 32),
            "r"(blockIdx.y * 16), "r"(shared_address(&bar)) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
        :: "r"(shared_address(&bar)) : "memory");
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
        out[(blockIdx.y * 16 + i / 32) * 128 + blockIdx.x * 32 + i % 32] = tile[i] * 2.0f;
}
extern "C" __global__ void bulk_copy(const float* in, float* out)
{
    __shared__ alignas(128) float tile[1024];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(shared_address(&bar)));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4096;" :: "r"(shared_address(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
            :: "r"(shared_address(tile)), "l"(in + blockIdx.x * 1024), "r"(shared_address(&bar)) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
        :: "r"(shared_address(&bar)) : "memory");
    out[blockIdx.x * 1024 + threadIdx.x] = tile[threadIdx.x * 4 % 1024] + tile[threadIdx.x];
}
extern "C" __global__ void doubles(const double* in, double* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sqrt(in[i]) * sin(in[(i + 3) % n]);
}

extern "C" __global__ void weighted_bins(const unsigned char* data, int* bins, float* sums, int* total, int n)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&own[data[i]], data[i]);
        atomicAdd(&sums[data[i]], 0.5f);
        atomicAdd(total, data[i]);
        atomicMax(&bins[data[i]], i);
    }
    __syncthreads();
    if (own[threadIdx.x] < 0) bins[0] = 1;
}
// Generic addresses: a pointer that is global for some lanes and shared for others.
extern "C" __global__ void mixed_spaces(const float* in, float* out)
{
    __shared__ float tile[256];
    const int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    const float* from = t % 2 ? tile + (t * 7 & 255) : in + (t * 5 & 255);
    out[t] = *from;
}
extern "C" __global__ void halves_and_bytes(const unsigned short* in, const unsigned char* bytes, double* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[n - 1 - i] + bytes[i * 3 % n];
}
extern "C" __global__ void volatile_pairs(volatile float2* pairs, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { pairs[i].x = pairs[(i + 1) % n].y; }
}
