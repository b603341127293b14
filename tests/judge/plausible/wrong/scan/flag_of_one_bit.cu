// grid: ceil(n/384)
// block: 128
// fault: stale flag
// kinds: race wrong_result uninitialised_read unrepeatable
// Chained scan whose flags hold a bit that flips with each launch: a flag that a longer array left behind may look new.
__device__ float running[1 << 23];
__device__ unsigned ready[1 << 23], ticket, finished, launches;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[128], before;
    __shared__ unsigned tile;
    const int t = threadIdx.x;
    const unsigned stamp = 4 | ((atomicAdd(&launches, 0u) + 1) & 1);
    if (t == 0) tile = atomicAdd(&ticket, 1u);
    __syncthreads();
    const long long first = tile * 384LL + 3 * t;
    float v[3];
    for (int k = 0; k < 3; ++k) v[k] = (first + k < n ? x[first + k] : 0.0f) + (k ? v[k - 1] : 0.0f);
    s[t] = v[2];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        const float other = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += other;
    }
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        if (tile > 0) {
            unsigned flag;
            do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(&ready[tile - 1]) : "memory");
            while (flag != stamp);
            sum = running[tile - 1];
        }
        before = sum;
        running[tile] = sum + s[127];
        asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(&ready[tile]), "r"(stamp) : "memory");
        if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
            atomicExch(&ticket, 0u);
            atomicExch(&finished, 0u);
            atomicAdd(&launches, 1u);
        }
    }
    __syncthreads();
    for (int k = 0; k < 3; ++k)
        if (first + k < n) y[first + k] = before + (t ? s[t - 1] : 0.0f) + v[k];
}
