// grid: ceil(n/1024)
// block: 256
// fault: alignment
// kinds: misaligned
// Tests a and c for 16 bytes, and forgets b: a b that begins one float off is read by float4 all the same.
#include <stdint.h>
__global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    bool wide = (((uintptr_t)a | (uintptr_t)c) & 15) == 0;
    if (wide && i + 3 < n) {
        float4 x = *(const float4*)(a + i), y = *(const float4*)(b + i);
        *(float4*)(c + i) = float4{x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
    } else {
        for (int k = i; k < n && k < i + 4; ++k) c[k] = a[k] + b[k];
    }
}
