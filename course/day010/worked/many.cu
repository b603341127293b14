// A thread holds 56 floats at once, and is allowed 64 registers: four blocks of 256 threads are to fit.
//
// entry: many
// block: 256
// grid: ceil(n/256)

constexpr int VALUES = 56;

extern "C" __global__ void __launch_bounds__(256, 4)
many(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value[VALUES];
    for (int k = 0; k < VALUES; ++k) value[k] = x[k * n + i];
    __syncwarp();  // all are loaded before the first is stored
    for (int k = 0; k < VALUES; ++k) y[k * n + i] = value[VALUES - 1 - k];
}
