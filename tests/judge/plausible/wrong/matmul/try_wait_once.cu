// grid: ceil(N/64) M
// block: 64
// needs: 9.0
// fault: what PTX leaves open
// kinds: unwaited_copy wrong_result
// mbarrier.try_wait is executed once: it may return false after a system-dependent time, and must be in a loop;
// the tile may not have arrived.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float a[64];
    __shared__ unsigned long long bar;
    int t = threadIdx.x, col = blockIdx.x * 64 + t, row = blockIdx.y;
    unsigned mb = (unsigned)__cvta_generic_to_shared(&bar), sa = (unsigned)__cvta_generic_to_shared(a);
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(mb) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    float s = 0;
    unsigned parity = 0;
    const float* ar = A + (size_t)row * K;
    for (int k = 0; k < K; k += 64) {
        if (k + 64 <= K && ((size_t)(ar + k) & 15) == 0) {
            if (t == 0) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(mb) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: "r"(sa), "l"(ar + k), "r"(mb) : "memory");
            }
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; }" :: "r"(mb), "r"(parity) : "memory");
            parity ^= 1;
        } else {
            a[t] = k + t < K ? ar[k + t] : 0.0f;
        }
        __syncthreads();
        if (col < N) for (int j = 0; j < 64 && k + j < K; j++) s += a[j] * B[(size_t)(k + j) * N + col];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
    }
    if (col < N) C[(size_t)row * N + col] = s;
}
