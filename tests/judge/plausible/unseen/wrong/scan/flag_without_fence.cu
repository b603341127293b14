// grid: ceil(n/1024)
// block: 1024
// fault: missing fence
// kinds: race
// The carry is stored plainly, the flag volatile, with no __threadfence() between.
__device__ float carry[1 << 19];
__device__ volatile int ready[1 << 19];
__device__ unsigned int next_tile, finished;

__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[1024];
    __shared__ float before;
    __shared__ unsigned int tile;
    if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
    __syncthreads();
    int i = tile * 1024 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
        float t = threadIdx.x >= d ? s[threadIdx.x - d] : 0.0f;
        __syncthreads();
        s[threadIdx.x] += t;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float b = 0;
        if (tile > 0) {
            while (ready[tile] == 0) {}
            b = carry[tile];
            ready[tile] = 0;
        }
        if (tile + 1 < gridDim.x) {
            carry[tile + 1] = b + s[1023];
            ready[tile + 1] = 1;
        }
        before = b;
        __threadfence();
        if (atomicAdd(&finished, 1) == gridDim.x - 1) {
            __threadfence();
            finished = 0;
            next_tile = 0;
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + s[threadIdx.x];
}
