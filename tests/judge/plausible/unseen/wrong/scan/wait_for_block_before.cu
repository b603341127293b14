// grid: ceil(n/1024)
// block: 1024
// fault: order of blocks
// kinds: deadlock
// Each block waits for block blockIdx.x - 1, which CUDA need not have started.
__device__ unsigned long long carry_in[1 << 19];
__device__ unsigned int finished;

__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[1024];
    __shared__ float before;
    int i = blockIdx.x * 1024 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
        float t = threadIdx.x >= d ? s[threadIdx.x - d] : 0.0f;
        __syncthreads();
        s[threadIdx.x] += t;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float b = 0;
        if (blockIdx.x > 0) {
            unsigned long long c;
            while ((c = atomicAdd(&carry_in[blockIdx.x], 0ULL)) == 0) {}
            b = __uint_as_float((unsigned)c);
            atomicExch(&carry_in[blockIdx.x], 0ULL);
        }
        if (blockIdx.x + 1 < gridDim.x) atomicExch(&carry_in[blockIdx.x + 1], (1ULL << 32) | __float_as_uint(b + s[1023]));
        before = b;
    }
    __syncthreads();
    if (i < n) y[i] = before + s[threadIdx.x];
}
