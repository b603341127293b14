// 05 short root: the chip's own reciprocal root as it is, and eight bodies for each thread.
//
// Moves: instructions, by a sixth. rsqrtf gives numbers below 1.2e-38 their roots as well: a comparison and two
//   products around the root of each pair. .ftz takes them for 0, whose root is infinite. Nothing else comes of it:
//   the cube of the root of a number so small is beyond float32 either way. Shared wavefronts, to a half of 04's.
// Mapping: thread t of block b -> bodies b * 2048 + t, + 256 ... + 1792.
//
// entry: nbody_short_root
// block: 256
// grid: ceil(m/2048)

constexpr int TILE = 256;  // sources of a tile, and threads of a block
constexpr int OWN = 8;     // bodies of a thread

__device__ __forceinline__ float4 load(const float* bodies, int j, int n, bool vectors)
{
    if (j >= n) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float* p = bodies + 4 * (size_t)j;
    return vectors ? *reinterpret_cast<const float4*>(p) : make_float4(p[0], p[1], p[2], p[3]);
}

__device__ __forceinline__ float short_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ void pull(float3& a, float4 own, float4 other, float softening)
{
    const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    const float inverse = short_root(softening + dx * dx + dy * dy + dz * dz);
    const float weight = other.w * inverse * (inverse * inverse);
    a = make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void __launch_bounds__(TILE, 2)
nbody_short_root(const float* __restrict__ bodies, const float* __restrict__ sources,
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
#pragma unroll 16
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
