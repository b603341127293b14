// 04 register tile: a thread takes four bodies, so that what it reads from shared memory serves four pairs.
//
// Moves: shared wavefronts, to a quarter, and instructions, as loop and addresses are shared by four pairs too. The
//   four sums do not wait for each other. The price: a quarter of the threads, so m must be large.
// Mapping: thread t of block b -> bodies b * 512 + t, + 128, + 256, + 384.
//
// entry: nbody_register_tile
// block: 128
// grid: ceil(m/512)

constexpr int TILE = 128;  // sources of a tile, and threads of a block
constexpr int OWN = 4;     // bodies of a thread

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
nbody_register_tile(const float* __restrict__ bodies, const float* __restrict__ sources,
                    float* __restrict__ accelerations, int m, int n, float softening)
{
    __shared__ float4 tile[TILE];

    const int first = blockIdx.x * TILE * OWN + threadIdx.x;
    const bool vectors = (((size_t)bodies | (size_t)sources) & 15) == 0;
    float4 own[OWN];
    float3 a[OWN] = {};
#pragma unroll
    for (int k = 0; k < OWN; ++k) own[k] = load(bodies, first + k * TILE, m, vectors);
    for (int start = 0; start < n; start += TILE) {
        tile[threadIdx.x] = load(sources, start + threadIdx.x, n, vectors);
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < TILE; ++j) {
            const float4 other = tile[j];
#pragma unroll
            for (int k = 0; k < OWN; ++k) pull(a[k], own[k], other, softening);
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < OWN; ++k) {
        const int i = first + k * TILE;
        if (i >= m) continue;
        float* p = accelerations + 3 * (size_t)i;
        p[0] = a[k].x, p[1] = a[k].y, p[2] = a[k].z;
    }
}
