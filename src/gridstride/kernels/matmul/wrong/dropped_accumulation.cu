// Dropped accumulation: `=` where `+=` is meant, so only the last step of k is left.
//
// entry: matmul_dropped_accumulation
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

extern "C" __global__ void matmul_dropped_accumulation(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}
