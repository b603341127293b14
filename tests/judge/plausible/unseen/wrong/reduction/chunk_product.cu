// grid: 2*SMS
// block: 256
// fault: sizes
// kinds: wrong_result
// blockIdx.x * n overflows 32 bits when cutting into chunks: n=268435456 (timed size), block 16 of 264 starts at 0 again.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    unsigned begin = blockIdx.x * (unsigned)n / gridDim.x, end = (blockIdx.x + 1) * (unsigned)n / gridDim.x;
    float a = 0;
    for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x) a += x[i];
    s[threadIdx.x] = a; __syncthreads();
    for (int k = 128; k; k /= 2) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
    if (threadIdx.x == 0) atomicAdd(total, s[0]);
}
