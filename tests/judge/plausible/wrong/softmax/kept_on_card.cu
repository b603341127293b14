// fault: a row's sum gathers in a variable of the module that nobody clears: right in the first launch
// kinds: wrong_result unrepeatable race
// grid: rows
// block: 64
__device__ float total[70000];
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < columns; ++i) m = fmaxf(m, x[at + i]);
    for (int i = threadIdx.x; i < columns; i += 64) s += expf(x[at + i] - m);
    atomicAdd(&total[blockIdx.x], s);
    __syncthreads();
    s = atomicAdd(&total[blockIdx.x], 0.0f);
    for (int i = threadIdx.x; i < columns; i += 64) y[at + i] = expf(x[at + i] - m) / s;
}
