// grid: 7
// block: 96
// Seven blocks; a generic lambda is applied to the four elements of a thread by a template's recursion.

#include <cuda_fp16.h>

template <int Left, typename F>
__device__ __forceinline__ void repeat(long long i, long long step, long long end, F f)
{
    if (i < end) f(i);
    if constexpr (Left > 1) repeat<Left - 1>(i + step, step, end, f);
}

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const long long all = (long long)N * H, chunk = 4 * blockDim.x;
    for (long long base = blockIdx.x * chunk; base < all; base += gridDim.x * chunk)
        repeat<4>(base + threadIdx.x, blockDim.x, all, [=](long long i) {
            const __half* gate = gate_up + i / H * 2 * H + i % H;
            const float g = __half2float(*gate), u = __half2float(gate[H]);
            out[i] = __float2half(__fdividef(g, 1.0f + __expf(-fminf(fmaxf(g, -87.0f), 87.0f))) * u);
        });
}
