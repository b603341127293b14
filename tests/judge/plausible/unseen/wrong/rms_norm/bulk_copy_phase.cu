// grid: min(N,SMS)
// block: 256
// shared: 2*W+16
// needs: 9.0
// fault: mbarrier misuse
// kinds: mbarrier unwaited_copy
// Each block takes several rows, delta comes by a bulk copy; the wait is for phase 0 each time, which from the
// second row on has long passed.
#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    extern __shared__ __align__(16) __half row_delta[];
    __shared__ __align__(8) unsigned long long bar;
    __shared__ float s[8];
    const unsigned b = (unsigned)__cvta_generic_to_shared(&bar), d = (unsigned)__cvta_generic_to_shared(row_delta);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    const bool bulk = W % 8 == 0;
    for (int row = blockIdx.x; row < N; row += gridDim.x) {
        const size_t base = (size_t)row * W;
        if (bulk) {
            if (threadIdx.x == 0) {
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(W * 2) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(d), "l"(delta + base), "r"(W * 2), "r"(b) : "memory");
            }
            unsigned done = 0;
            while (!done)
                asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(b), "r"(0) : "memory");
        }
        float sum = 0;
        for (int c = threadIdx.x; c < W; c += 256) {
            const __half r = __float2half(__half2float(residual[base + c]) + __half2float(bulk ? row_delta[c] : delta[base + c]));
            residual[base + c] = r;
            sum += __half2float(r) * __half2float(r);
        }
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
        __syncthreads();
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += s[w];
        const float scale = rsqrtf(sum / W + eps);
        for (int c = threadIdx.x; c < W; c += 256) out[base + c] = __float2half(__half2float(residual[base + c]) * scale * __half2float(weight[c]));
        __syncthreads();
    }
}
