// grid: 32
// block: 256
// fault: wrong formula
// kinds: wrong_result
// The work queue's __device__ counter is never put back to zero: the second launch of the module finds the queue empty and does nothing.

__device__ int next_chunk = 0;

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ int chunk;
    while (true) {
        if (threadIdx.x == 0) chunk = atomicAdd(&next_chunk, 1);
        __syncthreads();
        const int begin = chunk * 1024;
        __syncthreads();
        if (begin >= n) break;
        for (int i = begin + threadIdx.x; i < min(n, begin + 1024); i += blockDim.x) y[i] = fmaf(a, x[i], y[i]);
    }
}
