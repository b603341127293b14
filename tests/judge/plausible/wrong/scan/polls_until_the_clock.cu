// grid: ceil(n/384)
// block: 128
// fault: bounded wait
// kinds: race wrong_result uninitialised_read
// Chained scan that waits for the tile before for some 300,000 cycles, sleeping in between, and then goes on without.
__device__ float running[1 << 23];
__device__ unsigned ready[1 << 23], ticket;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[128], before;
    __shared__ unsigned tile;
    const int t = threadIdx.x;
    if (t == 0) {
        tile = atomicAdd(&ticket, 1u);
        if (tile == gridDim.x - 1) atomicExch(&ticket, 0u);
    }
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
        before = 0.0f;
        if (tile > 0) {
            unsigned flag = 0;
            for (long long since = clock64(); !flag && clock64() - since < 300000; __nanosleep(20))
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(flag) : "l"(&ready[tile - 1]) : "memory");
            before = running[tile - 1];
            ready[tile - 1] = 0;
        }
        if (tile + 1 < gridDim.x) {
            running[tile] = before + s[127];
            asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(&ready[tile]), "r"(1) : "memory");
        }
    }
    __syncthreads();
    for (int k = 0; k < 3; ++k)
        if (first + k < n) y[first + k] = before + (t ? s[t - 1] : 0.0f) + v[k];
}
