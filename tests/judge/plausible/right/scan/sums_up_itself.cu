// grid: ceil(n/384)
// block: 128
// Chained scan that polls the tile before a hundred times, and then adds up itself all that comes before its own tile.
// Flags hold the number of the launch, which the last block to finish counts up.
__device__ float running[1 << 23];
__device__ unsigned ready[1 << 23], ticket, finished, launches;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[128], before;
    __shared__ unsigned tile;
    const int t = threadIdx.x;
    const unsigned stamp = atomicAdd(&launches, 0u) + 1;
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
            unsigned flag = 0;
            for (int k = 0; k < 100 && flag != stamp; ++k)
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(&ready[tile - 1]) : "memory");
            if (flag == stamp)
                sum = running[tile - 1];
            else
                for (long long j = 0; j < tile * 384LL; ++j) sum += x[j];
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
