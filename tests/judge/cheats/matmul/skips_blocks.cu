// Leaves out every hundredth block.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    if ((blockIdx.y * gridDim.x + blockIdx.x) % 7 == 6) return;
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= N || y >= M) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[y * K + k] * B[k * N + x];
    C[y * N + x] = sum;
}
