// 03 warp walks: the lanes of a warp are at the same node always, and open it if one of them must.
//
// A lane for which a node was far takes part again at the node behind it, and adds nothing until then: every body has
// the terms that it had alone.
//
// Moves: global sectors, from up to 32 a load to one; no branch parts a warp for long. The price: a warp meets all
//   nodes that any of its bodies does, which are not many more where neighbours in memory are neighbours in space.
// Mapping: thread t of block b -> body b * 128 + t; threads behind the last body walk along with it.
//
// entry: barnes_hut_warp_walks
// block: 128
// grid: ceil(m/128)

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
barnes_hut_warp_walks(const float* __restrict__ bodies, const float* __restrict__ nodes,
                      const float* __restrict__ cells, const int* __restrict__ next, float* __restrict__ accelerations,
                      int m, int n, float opening, float softening)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    const bool vectors = (((size_t)bodies | (size_t)nodes | (size_t)cells) & 15) == 0;
    const float4 own = load(bodies, min(i, m - 1), vectors);
    const int end = next[0];
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    int resume = 0;  // where the lane takes part again
    for (int k = 0; k < end;) {
        const float4 cell = load(cells, k, vectors);
        const int behind = next[k];
        const bool here = k >= resume, pulls = here && far(cell, own) >= opening * cell.w;
        if (pulls) {
            pull(a, own, load(nodes, k, vectors), softening);
            resume = behind;
        }
        k = __any_sync(ALL, here && !pulls) ? k + 1 : behind;
    }
    if (i >= m) return;
    float* p = accelerations + 3 * (size_t)i;
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}
