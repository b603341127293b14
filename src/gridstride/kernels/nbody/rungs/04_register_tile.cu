// 04 register tile: a thread takes four bodies, so that what it reads from shared memory serves four pairs.
//
// Moves: shared wavefronts, to a quarter. Loop and addresses are shared by four pairs too, and four sums do not wait
//   for each other. So that a block still has no more than 128 bodies, and there are enough blocks, its warps share the
//   work: each adds up an eighth of every tile, and the eight sums meet at the end.
// Mapping: lane l of every warp of block b -> bodies b * 128 + l, + 32, + 64, + 96; warp w -> bodies 32 w ... 32 w + 31
//   of each tile of 256.
//
// entry: nbody_register_tile
// block: 256
// grid: ceil(m/128)

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int OWN = 4;            // bodies of a thread
constexpr int BODIES = 32 * OWN;  // of a block

__device__ __forceinline__ float4 load(const float* bodies, int j, int n, bool vectors)
{
    if (j >= n) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float* p = bodies + 4 * (size_t)j;
    return vectors ? *reinterpret_cast<const float4*>(p) : make_float4(p[0], p[1], p[2], p[3]);
}

__device__ __forceinline__ void pull(float3& a, float4 own, float4 other, float softening)
{
    const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    const float inverse = rsqrtf(softening + dx * dx + dy * dy + dz * dz);
    const float weight = other.w * inverse * (inverse * inverse);
    a = make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void __launch_bounds__(THREADS)
nbody_register_tile(const float* __restrict__ bodies, const float* __restrict__ sources,
                    float* __restrict__ accelerations, int m, int n, float softening)
{
    __shared__ float4 tile[THREADS];
    __shared__ float sums[WARPS][3 * BODIES];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = blockIdx.x * BODIES;
    const bool vectors = (((size_t)bodies | (size_t)sources) & 15) == 0;
    float4 own[OWN];
    float3 a[OWN] = {};
#pragma unroll
    for (int k = 0; k < OWN; ++k) own[k] = load(bodies, first + 32 * k + lane, m, vectors);
    for (int start = 0; start < n; start += THREADS) {
        tile[threadIdx.x] = load(sources, start + threadIdx.x, n, vectors);
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 32; ++j) {
            const float4 other = tile[32 * warp + j];
#pragma unroll
            for (int k = 0; k < OWN; ++k) pull(a[k], own[k], other, softening);
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < OWN; ++k) {
        float* p = &sums[warp][3 * (32 * k + lane)];
        p[0] = a[k].x, p[1] = a[k].y, p[2] = a[k].z;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < 3 * BODIES && 3 * (size_t)first + e < 3 * (size_t)m; e += THREADS) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) sum += sums[w][e];
        accelerations[3 * (size_t)first + e] = sum;
    }
}
