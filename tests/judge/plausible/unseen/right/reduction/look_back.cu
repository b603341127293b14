// grid: ceil(n/4096)
// block: 256
//
// Blocks take tickets and hand the running sum on, each to the next: one order, the same bits every time.

__device__ unsigned tickets, passed;
__device__ float running;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ unsigned mine;
    __shared__ float s[8];
    const int t = threadIdx.x;
    if (t == 0) mine = atomicAdd(&tickets, 1u);
    __syncthreads();
    float v = 0.0f;
    for (int k = 0; k < 16; ++k) {
        const long long i = (long long)mine * 4096 + 256 * k + t;
        if (i < n) v += x[i];
    }
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; ++k) v += s[k];
        while (atomicAdd(&passed, 0u) != mine) __nanosleep(20);
        __threadfence();
        const float before = mine == 0 ? *total : *(volatile float*)&running;
        if (mine == gridDim.x - 1) {
            *total = before + v;
            tickets = 0;
            atomicExch(&passed, 0u);
        } else {
            *(volatile float*)&running = before + v;
            __threadfence();
            atomicExch(&passed, mine + 1);
        }
    }
}
