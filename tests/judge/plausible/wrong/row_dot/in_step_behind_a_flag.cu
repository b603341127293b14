// grid: rows
// block: 32
// fault: missing syncwarp
// kinds: race
// Lanes wait for a volatile flag with fences, and then add up volatile sums as if they ran in step.

#include <cuda_fp16.h>
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    __shared__ volatile float s[32];
    __shared__ volatile int go;
    const int lane = threadIdx.x;
    const size_t row = blockIdx.x;
    float v = 0.0f;
    for (int i = lane; i < columns; i += 32) v += __half2float(a[row * columns + i]) * __half2float(b[row * columns + i]);
    if (lane == 0) go = 0;
    __syncwarp();
    s[lane] = v;
    __threadfence_block();
    if (lane == 31) go = 1;
    while (!go) {}
    __threadfence_block();
    for (int k = 16; k; k /= 2) {
        if (lane < k) s[lane] = s[lane] + s[lane + k];
        __threadfence_block();
    }
    if (lane == 0) y[row] = s[0];
}
