// grid: N, M
// block: 128
// needs: 8.0
// fault: mbarrier for fewer arrivals than come
// kinds: race
// Each of four warps arrives once at an mbarrier made for three: the sum of the last one may not be there.

#include <cuda_fp16.h>
__global__ void skinny_gemm(const __half* x, const __half* w, const __half* b, __half* y, int M, int N, int steps)
{
    __shared__ float s[4]; __shared__ unsigned long long bar; unsigned mb = (unsigned)__cvta_generic_to_shared(&bar);
    int n = blockIdx.x, m = blockIdx.y, t = threadIdx.x, l = t & 31, K = 32 * steps; float a = 0;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 3;" :: "r"(mb) : "memory"); __syncthreads();
    for (int k = t; k < K; k += 128) a += __half2float(x[(size_t)m * K + k]) * __half2float(w[(size_t)n * K + k]);
    for (int k = 16; k; k /= 2) a += __shfl_xor_sync(~0u, a, k);
    if (l == 0) { s[t / 32] = a; asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(mb) : "memory"); }
    if (t == 0) { asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(mb) : "memory");
        y[(size_t)m * N + n] = __float2half(s[0] + s[1] + s[2] + s[3] + __half2float(b[n])); }
}
