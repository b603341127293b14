// grid: min(max(1, ceil(n/1024)), 128)
// block: 256
// needs: 9.0
// fault: missing wait
// kinds: race
// Partials go out by cp.async.bulk, and only wait_group.read (source may be reused) is waited for before the
// ticket: the writes may not have arrived when the last block reads them.
__device__ __align__(16) float parts[128][4];
__device__ unsigned int ticket;
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ __align__(16) float mine[4];
    float v = 0;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k; k /= 2) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
    if (threadIdx.x) return;
    for (int j = 0; j < 4; j++) mine[j] = j ? 0.0f : s[0];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" :: "l"(parts[blockIdx.x]), "r"((unsigned)__cvta_generic_to_shared(mine)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __threadfence();
    if (atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        float t = 0;
        for (int b = 0; b < gridDim.x; b++) t += __ldcg(&parts[b][0]);
        *total += t;
    }
}
