// 04 two bodies: a lane walks for two, so that what it loads and the vote on where to go serve two bodies.
//
// Moves: global requests, to three fifths, and instructions: loads, addresses and the loop are shared. The price: half
//   of the threads, so m must be large, and the nodes that any of 64 bodies meets, not of 32.
// Mapping: warp w of block b -> bodies (b * 4 + w) * 64 + lane, + 32: a warp's are neighbours in memory.
//
// entry: barnes_hut_two_bodies
// block: 128
// grid: ceil(m/256)

constexpr int OWN = 2;  // bodies of a thread
constexpr unsigned int ALL = 0xffffffff;

__device__ __forceinline__ float4 load(const float* rows, int j, bool vectors)
{
    const float* p = rows + 4 * (size_t)j;
    return vectors ? *reinterpret_cast<const float4*>(p) : make_float4(p[0], p[1], p[2], p[3]);
}

__device__ __forceinline__ float far(float4 cell, float4 own)
{
    const float dx = cell.x - own.x, dy = cell.y - own.y, dz = cell.z - own.z;
    return dx * dx + dy * dy + dz * dz;
}

__device__ __forceinline__ void pull(float3& a, float4 own, float4 node, float softening)
{
    const float dx = node.x - own.x, dy = node.y - own.y, dz = node.z - own.z;
    const float inverse = rsqrtf(softening + dx * dx + dy * dy + dz * dz);
    const float weight = node.w * inverse * (inverse * inverse);
    a = make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void __launch_bounds__(128)
barnes_hut_two_bodies(const float* __restrict__ bodies, const float* __restrict__ nodes,
                      const float* __restrict__ cells, const int* __restrict__ next, float* __restrict__ accelerations,
                      int m, int n, float opening, float softening)
{
    const int first = (blockIdx.x * 128 + threadIdx.x / 32 * 32) * OWN + threadIdx.x % 32;
    if (first - threadIdx.x % 32 >= m) return;  // a warp without bodies
    const bool vectors = (((size_t)bodies | (size_t)nodes | (size_t)cells) & 15) == 0;
    float4 own[OWN];
    float3 a[OWN] = {};
    int resume[OWN] = {};  // where each body takes part again
#pragma unroll
    for (int j = 0; j < OWN; ++j) own[j] = load(bodies, min(first + 32 * j, m - 1), vectors);
    const int end = next[0];
    for (int k = 0; k < end;) {
        const float4 cell = load(cells, k, vectors);
        const float4 node = load(nodes, k, vectors);
        const int behind = next[k];
        const float limit = opening * cell.w;
        bool opens = false;
#pragma unroll
        for (int j = 0; j < OWN; ++j) {
            const bool here = k >= resume[j], pulls = here && far(cell, own[j]) >= limit;
            opens |= here && !pulls;
            if (pulls) {
                pull(a[j], own[j], node, softening);
                resume[j] = behind;
            }
        }
        k = __any_sync(ALL, opens) ? k + 1 : behind;
    }
#pragma unroll
    for (int j = 0; j < OWN; ++j) {
        const int i = first + 32 * j;
        if (i >= m) continue;
        float* p = accelerations + 3 * (size_t)i;
        p[0] = a[j].x, p[1] = a[j].y, p[2] = a[j].z;
    }
}
