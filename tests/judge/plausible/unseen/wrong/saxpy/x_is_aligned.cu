// grid: ceil(n/1024)
// block: 256
// fault: alignment of one array
// kinds: misaligned
// Vectors of four are used where x is aligned; y is not asked, and may begin 4 bytes past.

#include <cstdint>

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const bool vectors = (reinterpret_cast<uintptr_t>(x) & 15) == 0;
    if (vectors && i + 4 <= n) {
        const float4 u = *reinterpret_cast<const float4*>(x + i);
        float4 v = *reinterpret_cast<float4*>(y + i);
        v.x += a * u.x, v.y += a * u.y, v.z += a * u.z, v.w += a * u.w;
        *reinterpret_cast<float4*>(y + i) = v;
        return;
    }
    for (int j = i; j < n && j < i + 4; ++j) y[j] += a * x[j];
}
