// grid: 2*SMS
// block: 128
// needs: 8.0
// fault: ring of stages
// kinds: race
// Ring of two with cp.async and cp.async.mbarrier.arrive.noinc: the empty barrier is arrived at ahead of the reads.

__device__ void wait(unsigned mb, unsigned ph) { asm volatile("{ .reg .pred p; W%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W%=; }" :: "r"(mb), "r"(ph) : "memory"); }
__device__ void arrive(unsigned mb) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(mb) : "memory"); }
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[2][128]; __shared__ unsigned long long bar[4]; float a = 0; int t = threadIdx.x, p = (n + 127) / 128; unsigned mb = (unsigned)__cvta_generic_to_shared(bar);
    if (t < 4) asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(mb + 8 * t) : "memory"); __syncthreads();
    int put = 0, k = blockIdx.x;
    auto fetch = [&] { int q = put & 1; wait(mb + 16 + 8 * q, (put / 2 & 1) ^ 1); int i = k * 128 + t;
        if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(&s[q][t])), "l"(x + i) : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(mb + 8 * q) : "memory"); put++; k += gridDim.x; };
    fetch(); int got = 0;
    for (int j = blockIdx.x; j < p; j += gridDim.x, got++) { fetch(); int q = got & 1; wait(mb + 8 * q, got / 2 & 1); arrive(mb + 16 + 8 * q); int i = (t + 32) % 128; if (j * 128 + i < n) a += s[q][i]; }
    for (int o = 16; o; o /= 2) a += __shfl_down_sync(~0u, a, o);
    if (t % 32 == 0) atomicAdd(total, a);
}
