// grid: parts
// block: 32
// A warp goes through the rows of its part; sums by a butterfly, columns from the last to the first.
__global__ void rms_norm_backward(
    const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts,
    float eps)
{
    int lane = threadIdx.x;
    float* mine = partial + (size_t)blockIdx.x * columns;
    for (int c = lane; c < columns; c += 32) mine[c] = 0;
    for (int row = blockIdx.x; row < rows; row += parts) {
        size_t at = (size_t)row * columns;
        float a = 0, b = 0;
        for (int c = lane; c < columns; c += 32) a = fmaf(x[at + c], x[at + c], a);
        for (int d = 16; d; d /= 2) a += __shfl_xor_sync(~0u, a, d);
        float r = 1 / sqrtf(a / columns + eps);
        for (int c = lane; c < columns; c += 32) b = fmaf(dy[at + c] * weight[c], x[at + c] * r, b);
        for (int d = 16; d; d /= 2) b += __shfl_xor_sync(~0u, b, d);
        float mean = b / columns;
        for (int c = columns - 1 - lane; c >= 0; c -= 32) dx[at + c] = r * (dy[at + c] * weight[c] - x[at + c] * r * mean);
        for (int c = lane; c < columns; c += 32) mine[c] += dy[at + c] * (x[at + c] * r);
    }
}
