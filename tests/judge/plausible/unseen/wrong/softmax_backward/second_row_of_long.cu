// Rows of more than 8192 by a whole block with a buffer for the warps' sums, in a persistent loop without a barrier at its end.
// Wrong for columns > 8192 and rows > 4 SMS: the next row's sums overwrite what a slow warp still reads.
// grid: min(rows, 4*SMS)
// block: 128
// fault: second row of long
// kinds: race
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float w[4];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool wide = columns > 8192;
    const int first = wide ? blockIdx.x : blockIdx.x * 4 + warp, step = wide ? gridDim.x : gridDim.x * 4;
    const int begin = wide ? threadIdx.x : lane, hop = wide ? 128 : 32;
    for (long long row = first; row < rows; row += step) {
        const float *a = y + row * columns, *b = dy + row * columns;
        float s = 0.0f;
        for (int i = begin; i < columns; i += hop) s += a[i] * b[i];
        for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
        if (wide) {
            if (lane == 0) w[warp] = s;
            __syncthreads();
            s = (w[0] + w[1]) + (w[2] + w[3]);
        }
        for (int i = begin; i < columns; i += hop) dx[row * columns + i] = a[i] * (b[i] - s);
    }
}
