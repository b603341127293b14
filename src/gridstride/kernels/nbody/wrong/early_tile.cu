// Early tile: the next tile is loaded while other threads still read the last.
//
// entry: nbody_early_tile
// block: 128
// grid: ceil(m/128)
// expect: race

__device__ float3 pull(float3 a, const float* own, const float* other, float softening)
{
    const float dx = other[0] - own[0], dy = other[1] - own[1], dz = other[2] - own[2];  // <- here
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float weight = other[3] * inverse * inverse * inverse;  // <- here
    return make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void
nbody_early_tile(const float* bodies, const float* sources, float* accelerations, int m, int n, float softening)
{
    __shared__ float tile[128][4];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    const float* own = bodies + 4 * min(i, m - 1);
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += 128) {
        const bool there = start + t < n;
        for (int c = 0; c < 4; ++c) tile[t][c] = there ? sources[4 * (start + t) + c] : 0.0f;  // <- here
        __syncthreads();
        for (int j = 0; j < 128; ++j) a = pull(a, own, tile[j], softening);
    }
    if (i >= m) return;
    accelerations[3 * i] = a.x, accelerations[3 * i + 1] = a.y, accelerations[3 * i + 2] = a.z;
}
