// Last tile lost: only whole tiles are added up; the bodies of the last, which is not full, pull nobody.
//
// entry: nbody_last_tile_lost
// block: 128
// grid: ceil(m/128)
// expect: wrong_result

__device__ float3 pull(float3 a, const float* own, const float* other, float softening)
{
    const float dx = other[0] - own[0], dy = other[1] - own[1], dz = other[2] - own[2];
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float weight = other[3] * inverse * inverse * inverse;
    return make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void
nbody_last_tile_lost(const float* bodies, const float* sources, float* accelerations, int m, int n, float softening)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= m) return;
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start + 128 <= n; start += 128) {
        for (int j = start; j < start + 128; ++j) a = pull(a, bodies + 4 * i, sources + 4 * j, softening);
    }
    accelerations[3 * i] = a.x, accelerations[3 * i + 1] = a.y, accelerations[3 * i + 2] = a.z;
}
