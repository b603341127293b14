// grid: rows
// block: 128
// needs: 8.0
// fault: mbarrier for fewer arrivals than come
// kinds: race
// 128 threads arrive and the phase ends with 96: the sum of whichever warp is last may not be there.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ float s[128]; __shared__ unsigned long long bar; int t = threadIdx.x; size_t row = blockIdx.x; float v = 0; unsigned mb = (unsigned)__cvta_generic_to_shared(&bar);
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 96;" :: "r"(mb) : "memory"); __syncthreads();
    for (int i = t; i < columns; i += 128) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    s[t] = v; asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(mb) : "memory");
    if (t < 32) { asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(mb) : "memory");
        v = s[t] + s[t + 32] + s[t + 64] + s[t + 96]; for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k); if (t == 0) y[row] = v; }
}
