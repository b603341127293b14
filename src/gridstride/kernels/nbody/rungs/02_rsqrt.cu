// 02 rsqrt: one instruction gives 1 / sqrt(r²), and its cube the weight: no division, no square root.
//
// Moves: global sectors, to a quarter: a body comes by one load of 16 bytes. On the chip instructions as well: a root
//   and a division in full precision are some ten each, which PTX, and so the counters here, have as one.
// Mapping: as in 01, where `bodies` begins at a multiple of 16 bytes; if not, by four loads.
//
// entry: nbody_rsqrt
// block: 128
// grid: ceil(m/128)

__device__ __forceinline__ float4 load(const float* bodies, int j, bool vectors)
{
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

extern "C" __global__ void
nbody_rsqrt(const float* __restrict__ bodies, const float* __restrict__ sources,
            float* __restrict__ accelerations, int m, int n, float softening)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;

    const bool vectors = (((size_t)bodies | (size_t)sources) & 15) == 0;
    const float4 own = load(bodies, i, vectors);
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int j = 0; j < n; ++j) pull(a, own, load(sources, j, vectors), softening);
    float* p = accelerations + 3 * (size_t)i;
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}
