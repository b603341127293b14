// entry: product
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

extern "C" __global__ void product(const float* A, const float* B,
                                   float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    }
    C[(size_t)row * N + column] = sum;
}
