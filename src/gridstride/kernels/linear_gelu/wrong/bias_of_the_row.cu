// Bias of the row: each row of Y gets a number instead of each column.
//
// entry: linear_gelu_bias_of_the_row
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

__device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

extern "C" __global__ void linear_gelu_bias_of_the_row(const float* X, const float* W, const float* b, float* Y,
                                                       int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += X[(size_t)row * K + k] * W[(size_t)k * N + column];
    Y[(size_t)row * N + column] = gelu(sum + b[row % N]);
}
