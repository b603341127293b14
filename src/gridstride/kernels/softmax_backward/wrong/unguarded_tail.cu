// Unguarded tail: threads in steps of 128 run past the end of the last row.
//
// entry: softmax_backward_unguarded_tail
// block: 128
// grid: rows
// expect: out_of_bounds

extern "C" __global__ void softmax_backward_unguarded_tail(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float sums[4];
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f;
    for (int base = 0; base < columns; base += 128)
        sum += y[start + base + threadIdx.x] * dy[start + base + threadIdx.x];  // <- here
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (int i = threadIdx.x; i < columns; i += 128) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
