// grid: ceil(n/512)
// block: 256
// fault: alignment of one array
// kinds: misaligned
// The head is peeled until a is aligned to 8 bytes, and b and c are taken to be aligned there too: not where they begin elsewhere.

#include <cstdint>

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int head = (reinterpret_cast<uintptr_t>(a) & 7) ? 1 : 0;
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    const int pairs = n > head ? (n - head) / 2 : 0;
    if (tid < pairs) {
        const float2 u = reinterpret_cast<const float2*>(a + head)[tid];
        const float2 v = reinterpret_cast<const float2*>(b + head)[tid];
        reinterpret_cast<float2*>(c + head)[tid] = make_float2(u.x + v.x, u.y + v.y);
    }
    if (tid == 0) {
        if (head && n > 0) c[0] = a[0] + b[0];
        for (int i = head + 2 * pairs; i < n; ++i) c[i] = a[i] + b[i];
    }
}
