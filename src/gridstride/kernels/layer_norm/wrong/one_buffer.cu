// One buffer: the squares go where the sums are, while slower warps still read those.
//
// entry: layer_norm_one_buffer
// block: 128
// grid: rows
// expect: race

extern "C" __global__ void layer_norm_one_buffer(
    const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
    int rows, int columns, float eps)
{
    __shared__ float of_warps[4];
    const long long start = (long long)blockIdx.x * columns;
    float value = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) value += x[start + i];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;  // <- here
    __syncthreads();
    const float centre = (of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3]) / columns;  // <- here
    value = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) value += (x[start + i] - centre) * (x[start + i] - centre);
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;  // <- here
    __syncthreads();
    const float scale = rsqrtf((of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3]) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 128)
        y[start + i] = (x[start + i] - centre) * scale * weight[i] + bias[i];
    if (threadIdx.x == 0) mean[blockIdx.x] = centre, rstd[blockIdx.x] = scale;
}
