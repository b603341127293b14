// grid: SMS*2
// block: 256
//
// Sixteen bytes at a time where all three arrays agree about it, one element at a time elsewhere: grid-stride, with a functor.

#include <cstdint>

struct Plus {
    __device__ float operator()(float x, float y) const { return x + y; }
    __device__ float4 operator()(float4 x, float4 y) const { return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }
};

template <typename T, typename F>
__device__ void sweep(const T* a, const T* b, T* c, long long n, F f)
{
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        c[i] = f(a[i], b[i]);
}

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const auto low = [](const void* p) { return reinterpret_cast<uintptr_t>(p) & 15; };
    const unsigned skew = low(a);
    if (skew != low(b) || skew != low(c)) {
        sweep(a, b, c, n, Plus{});
        return;
    }
    int head = ((16 - skew) & 15) / 4;
    if (head > n) head = n;
    const int vectors = (n - head) / 4, tail = head + 4 * vectors;
    sweep((const float4*)(a + head), (const float4*)(b + head), (float4*)(c + head), vectors, Plus{});
    sweep(a, b, c, head, Plus{});
    sweep(a + tail, b + tail, c + tail, n - tail, Plus{});
}
