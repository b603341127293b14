// grid: 2*SMS
// block: 256
// fault: product of 32 bits
// kinds: wrong_result
// Ranks through shared memory: thread 0 puts blockIdx.x there, the others multiply it by n in 32 bits.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ unsigned k; if (threadIdx.x == 0) k = blockIdx.x; __syncthreads();
    unsigned b = k * n / gridDim.x, e = (k + 1) * n / gridDim.x;
    for (unsigned i = b + threadIdx.x; i < e; i += 256) y[i] = a * x[i] + y[i];
}
