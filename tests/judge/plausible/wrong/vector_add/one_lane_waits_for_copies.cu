// grid: max(1,ceil(n/256))
// block: 32
// needs: 8.0
// fault: missing syncwarp
// kinds: race
// Lanes copy by cp.async that an mbarrier counts; lane 0 waits for all of it, and the others read without a __syncwarp().
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float x[32], y[32];
    __shared__ unsigned long long full;
    const int lane = threadIdx.x;
    if (lane == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(at(&full)) : "memory");
    __syncwarp();
    for (int k = 0; k < 8; ++k) {
        const long long i = blockIdx.x * 256LL + 32 * k + lane;
        if (i < n) {
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(x + lane)), "l"(a + i) : "memory");
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(y + lane)), "l"(b + i) : "memory");
        }
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(&full)) : "memory");
        unsigned done = 0;
        if (lane == 0)
            while (!done)
                asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                             : "=r"(done) : "r"(at(&full)), "r"(k & 1) : "memory");
        const int back = 31 - lane;
        const long long j = i - lane + back;
        if (j < n) c[j] = x[back] + y[back];
        __syncwarp();
    }
}
