// Left early: threads without a body leave, and their part of the tile is never loaded.
//
// entry: nbody_left_early
// block: 128
// grid: ceil(m/128)
// expect: uninitialised_read

__device__ float3 pull(float3 a, const float* own, const float* other, float softening)
{
    const float dx = other[0] - own[0], dy = other[1] - own[1], dz = other[2] - own[2];  // <- here
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float weight = other[3] * inverse * inverse * inverse;  // <- here
    return make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void
nbody_left_early(const float* bodies, const float* sources, float* accelerations, int m, int n, float softening)
{
    __shared__ float tile[128][4];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (i >= m) return;
    const float* own = bodies + 4 * i;
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += 128) {
        __syncthreads();
        for (int c = 0; c < 4; ++c) tile[t][c] = start + t < n ? sources[4 * (start + t) + c] : 0.0f;
        __syncthreads();
        for (int j = 0; j < 128; ++j) a = pull(a, own, tile[j], softening);
    }
    accelerations[3 * i] = a.x, accelerations[3 * i + 1] = a.y, accelerations[3 * i + 2] = a.z;
}
