// Every lane a column: weight and bias are taken at the lane's place in the block, not in the row.
//
// entry: layer_norm_every_lane_a_column
// block: 128
// grid: rows
// expect: wrong_result

extern "C" __global__ void layer_norm_every_lane_a_column(
    const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
    int rows, int columns, float eps)
{
    __shared__ float of_warps[2][4];
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) sum += x[start + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) of_warps[0][threadIdx.x / 32] = sum;
    __syncthreads();
    const float centre = (of_warps[0][0] + of_warps[0][1] + of_warps[0][2] + of_warps[0][3]) / columns;
    for (int i = threadIdx.x; i < columns; i += 128) squares += (x[start + i] - centre) * (x[start + i] - centre);
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(~0u, squares, offset);
    if (threadIdx.x % 32 == 0) of_warps[1][threadIdx.x / 32] = squares;
    __syncthreads();
    squares = of_warps[1][0] + of_warps[1][1] + of_warps[1][2] + of_warps[1][3];
    const float scale = rsqrtf(squares / columns + eps);
    const float w = weight[threadIdx.x % columns], b = bias[threadIdx.x % columns];
    for (int i = threadIdx.x; i < columns; i += 128) y[start + i] = (x[start + i] - centre) * scale * w + b;
    if (threadIdx.x == 0) mean[blockIdx.x] = centre, rstd[blockIdx.x] = scale;
}
