// Brings host code of its own: a stream, a graph, a thread, a timer.
//
// block: 256
// grid: ceil(n/256)
// expect: compile_error

#include <thread>
#include <cuda_runtime.h>
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

void launch()
{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    std::thread([] {}).detach();
}
