// Launches the work on a stream that nobody times.
//
// entry: add
// block: 256
// grid: 1
// expect: compile_error

__global__ void work(const float* a, const float* b, float* c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

__global__ void add(const float* a, const float* b, float* c, int n)
{
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    if (threadIdx.x == 0) work<<<1024, 256, 0, other>>>(a, b, c, n);
}
