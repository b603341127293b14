// Missing barrier: the sums of the warps are read before every warp has put its own there.
//
// entry: softmax_backward_missing_barrier
// block: 128
// grid: rows
// expect: race

extern "C" __global__ void softmax_backward_missing_barrier(
    const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float sums[4];
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) sum += y[start + i] * dy[start + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;  // <- here
    sum = sums[0] + sums[1] + sums[2] + sums[3];  // <- here
    for (int i = threadIdx.x; i < columns; i += 128) dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
