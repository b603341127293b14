// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: index arithmetic
// kinds: wrong_result
// The bias is taken by row and not by column.
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float v = b[row];
    for (int k = 0; k < K; ++k) v = fmaf(X[(size_t)row * K + k], W[(size_t)k * N + column], v);
    Y[(size_t)row * N + column] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
