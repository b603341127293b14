// grid: ceil(n/2048)
// block: 128
// fault: order of blocks
// kinds: deadlock
// A block waits in a loop for the block of the number before it, without a ticket: CUDA promises no order, so that blocks that started first can wait for one that cannot start (deadlock where not all blocks fit or start in turn; n > 2048).

__device__ float prefixes[131072];
__device__ int ready[131072];

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sums[4];
    float v = 0.0f;
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 2048); i += 128) v += x[i];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x != 0) return;
    float sum = sums[0] + sums[1] + sums[2] + sums[3];
    if (blockIdx.x > 0) {
        while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {}
        __threadfence();
        sum += *(volatile float*)&prefixes[blockIdx.x - 1];
        atomicExch(&ready[blockIdx.x - 1], 0);
    }
    if (blockIdx.x == gridDim.x - 1) {
        *total += sum;
    } else {
        *(volatile float*)&prefixes[blockIdx.x] = sum;
        __threadfence();
        atomicExch(&ready[blockIdx.x], 1);
    }
}
