// grid: 24
// block: 64
// fault: order of blocks
// kinds: race wrong_result
// Block 0 sets the queue back before it draws: blocks that drew before it see their pieces drawn again, and done twice.

__device__ int head_of_queue;

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ int piece;
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicExch(&head_of_queue, 0);
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) piece = atomicAdd(&head_of_queue, 1);
        __syncthreads();
        if ((long long)piece * 64 >= n) break;
        const int i = piece * 64 + threadIdx.x;
        if (i < n) y[i] += a * x[i];
    }
}
