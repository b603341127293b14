// grid: max(1,ceil(n/256))
// block: 64
// needs: 8.0
// One warp fills a tile and another empties it; one lane arrives and waits for each, next to a __syncwarp().
__device__ __forceinline__ unsigned int at(const void* p) { return (unsigned int)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void arrive(unsigned long long* bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory");
}
__device__ __forceinline__ void wait(unsigned long long* bar, unsigned int parity)
{
    unsigned int done;
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(at(bar)), "r"(parity) : "memory"); while (!done);
}
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile[32];
    __shared__ unsigned long long full, empty;
    const int lane = threadIdx.x % 32;
    const long long first = blockIdx.x * 256LL;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&empty)) : "memory");
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        const long long i = first + 32 * k;
        if (threadIdx.x >= 32) {  // brings the sums of 32 elements, the last one first
            if (k > 0) wait(&empty, (k - 1) & 1);
            tile[31 - lane] = i + lane < n ? a[i + lane] + b[i + lane] : 0.0f;
            __syncwarp();
            if (lane == 0) arrive(&full);
        } else {
            if (lane == 0) wait(&full, k & 1);
            __syncwarp();
            if (i + lane < n) c[i + lane] = tile[31 - lane];
            __syncwarp();
            if (lane == 0) arrive(&empty);
        }
    }
}
