// grid: ceil(n/1024)
// block: 256
// fault: device variable
// kinds: misaligned race
// Looks once whether the pointers are aligned and remembers the answer for all later launches with other pointers.
__device__ int vectorised = -1;
__global__ void add(const float* a, const float* b, float* c, int n)
{
    if (vectorised < 0) vectorised = ((size_t)a % 16 | (size_t)b % 16 | (size_t)c % 16) == 0;
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (vectorised && i + 4 <= n) {
        float4 x = reinterpret_cast<const float4*>(a)[i / 4], y = reinterpret_cast<const float4*>(b)[i / 4];
        reinterpret_cast<float4*>(c)[i / 4] = {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
        return;
    }
    for (int k = i; k < min(i + 4, n); ++k) c[k] = a[k] + b[k];
}
