// 03 shared tile: the block loads 128 bodies at a time into shared memory, and every thread takes them from there.
//
// Moves: global requests, from one for each pair of a warp to one for 32: a thread loads one body of each tile.
// Mapping: thread t of block b -> body b * 128 + t. Bodies beyond the last have no mass, and so no pull.
//
// entry: nbody_shared_tile
// block: 128
// grid: ceil(m/128)

constexpr int TILE = 128;  // bodies, and threads of a block

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

extern "C" __global__ void __launch_bounds__(TILE)
nbody_shared_tile(const float* __restrict__ bodies, const float* __restrict__ sources,
                  float* __restrict__ accelerations, int m, int n, float softening)
{
    __shared__ float4 tile[TILE];

    const int i = blockIdx.x * TILE + threadIdx.x;
    const bool vectors = (((size_t)bodies | (size_t)sources) & 15) == 0;
    const float4 own = load(bodies, i, m, vectors);
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += TILE) {
        tile[threadIdx.x] = load(sources, start + threadIdx.x, n, vectors);
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < TILE; ++j) pull(a, own, tile[j], softening);
        __syncthreads();
    }
    if (i >= m) return;
    float* p = accelerations + 3 * (size_t)i;
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}
