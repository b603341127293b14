// 02 in a register: bias and gelu are applied to the sum where it is, and Y is written once.
//
// Moves: stores, to a third; no load of Y is left.
// Mapping: that of 01.
//
// entry: linear_gelu_in_a_register
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

__device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

extern "C" __global__ void linear_gelu_in_a_register(const float* X, const float* W, const float* b, float* Y,
                                                     int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += X[(size_t)row * K + k] * W[(size_t)k * N + column];
    Y[(size_t)row * N + column] = gelu(sum + b[column]);
}
