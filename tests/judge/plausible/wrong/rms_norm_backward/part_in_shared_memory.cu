// grid: parts
// block: 128
// fault: wide rows
// kinds: out_of_bounds wrong_result
// The part is kept in shared memory, which has room for 4,096 columns.
// The sum over the block, in every thread.
__device__ float block_sum(float v)
{
    __shared__ float s[128];
    __syncthreads();
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    return s[0];
}

__global__ void rms_norm_backward(
    const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts,
    float eps)
{
    __shared__ float kept[4096];
    int t = threadIdx.x, part = blockIdx.x;
    for (int c = t; c < columns; c += 128) kept[c] = 0;
    for (int row = part; row < rows; row += parts) {
        const float* xs = x + (size_t)row * columns;
        const float* ds = dy + (size_t)row * columns;
        float a = 0, b = 0;
        for (int c = t; c < columns; c += 128) a += xs[c] * xs[c];
        float r = rsqrtf(block_sum(a) / columns + eps);
        for (int c = t; c < columns; c += 128) b += ds[c] * weight[c] * (xs[c] * r);
        float mean = block_sum(b) / columns;
        for (int c = t; c < columns; c += 128) {
            dx[(size_t)row * columns + c] = r * (ds[c] * weight[c] - xs[c] * r * mean);
            kept[c] += ds[c] * (xs[c] * r);
        }
    }
    for (int c = t; c < columns; c += 128) partial[(size_t)part * columns + c] = kept[c];
}
