// Unguarded tail: the grid is rounded up to whole blocks, and the threads beyond the last body take part.
//
// entry: nbody_unguarded_tail
// block: 128
// grid: ceil(m/128)
// expect: out_of_bounds

__device__ float3 pull(float3 a, const float* own, const float* other, float softening)
{
    const float dx = other[0] - own[0], dy = other[1] - own[1], dz = other[2] - own[2];  // <- here
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float weight = other[3] * inverse * inverse * inverse;
    return make_float3(a.x + weight * dx, a.y + weight * dy, a.z + weight * dz);
}

extern "C" __global__ void
nbody_unguarded_tail(const float* bodies, const float* sources, float* accelerations, int m, int n, float softening)
{
    const int i = blockIdx.x * 128 + threadIdx.x;  // <- here
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < n; ++j) a = pull(a, bodies + 4 * i, sources + 4 * j, softening);  // <- here
    accelerations[3 * i] = a.x, accelerations[3 * i + 1] = a.y, accelerations[3 * i + 2] = a.z;  // <- here
}
