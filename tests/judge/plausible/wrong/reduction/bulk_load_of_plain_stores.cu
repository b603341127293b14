// grid: min(max(1, ceil(n/2048)), 64)
// block: 256
// needs: 9.0
// fault: missing fence
// kinds: proxy_fence
// Per-thread sums are stored plainly to global scratch and fetched by a bulk copy (async proxy) behind
// __syncthreads() only: fence.proxy.async is missing between the proxies.
__device__ __align__(16) float scratch[64][256];
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ __align__(16) float s[256];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    unsigned mb = (unsigned)__cvta_generic_to_shared(&bar);
    float v = 0;
    for (long long i = blockIdx.x * 256LL + t; i < n; i += gridDim.x * 256LL) v += x[i];
    scratch[blockIdx.x][t] = v;
    if (t == 0) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(mb) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(mb) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(scratch[blockIdx.x]), "r"(mb) : "memory");
    }
    asm volatile("{ .reg .pred p;\n L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L; }" :: "r"(mb) : "memory");
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) atomicAdd(total, s[0]);
}
