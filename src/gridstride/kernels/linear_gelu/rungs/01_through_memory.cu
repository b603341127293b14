// 01 through memory: what three kernels would do, in one: product, bias and gelu each leave their result in Y.
//
// Moves: nothing yet. Every element of Y is written three times and read twice.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: linear_gelu_through_memory
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

__device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

extern "C" __global__ void linear_gelu_through_memory(const float* X, const float* W, const float* b, float* Y,
                                                      int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += X[(size_t)row * K + k] * W[(size_t)k * N + column];
    // volatile: each step goes through memory, as in three kernels
    volatile float* result = Y + (size_t)row * N + column;
    *result = sum;
    *result = *result + b[column];
    *result = gelu(*result);
}
