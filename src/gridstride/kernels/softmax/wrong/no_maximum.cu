// No maximum: exponentials of the elements as they are overflow from 89 on, and Inf / Inf is NaN.
//
// entry: softmax_no_maximum
// block: 128
// grid: rows
// expect: wrong_result

extern "C" __global__ void softmax_no_maximum(const float* x, float* y, int rows, int columns)
{
    __shared__ float sums[4];
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) sum += expf(x[start + i]);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (int i = threadIdx.x; i < columns; i += 128) y[start + i] = expf(x[start + i]) / sum;
}
