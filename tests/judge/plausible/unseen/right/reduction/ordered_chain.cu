// The same bits each time: blocks take tickets and hand a running sum from one to the next with release and acquire.
// grid: min(max(1, ceil(n/2048)), 4*SMS)
// block: 256
__device__ unsigned int tickets, turn;
__device__ float running;
__device__ __forceinline__ unsigned int acquire(unsigned int* p)
{
    unsigned int v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void release(unsigned int* p, unsigned int v)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ unsigned int mine;
    __shared__ float w[8];
    if (threadIdx.x == 0) mine = atomicAdd(&tickets, 1u);
    __syncthreads();
    float v = 0.0f;
    for (long long i = (long long)mine * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) v += x[i];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x) return;
    for (int k = 1; k < 8; ++k) v += w[k];
    while (acquire(&turn) != mine) __nanosleep(20);
    const float sum = (mine ? running : total[0]) + v;
    if (mine == gridDim.x - 1) {
        total[0] = sum;
        tickets = 0;
        release(&turn, 0u);
    } else {
        running = sum;
        release(&turn, mine + 1);
    }
}
