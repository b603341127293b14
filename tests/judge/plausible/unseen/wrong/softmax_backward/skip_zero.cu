// grid: rows
// block: 128
// fault: zeros skipped
// kinds: wrong_result
// Where y is 0 the term is left out as nothing: with dy Inf or NaN it is NaN, and its row with it.
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float s[128];
    size_t at = (size_t)blockIdx.x * columns;
    float v = 0;
    for (int c = threadIdx.x; c < columns; c += 128)
        if (y[at + c] != 0.0f) v += y[at + c] * dy[at + c];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < columns; c += 128) dx[at + c] = y[at + c] * (dy[at + c] - s[0]);
}
