// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: tail of 8
// kinds: wrong_result
// The loop over k is unrolled by 8 and ends there: the last K % 8 products are missing.
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c >= N || r >= M) return;
    float acc = 0.0f;
    for (int k = 0; k + 8 <= K; k += 8) {
#pragma unroll
        for (int u = 0; u < 8; ++u) acc += A[r * K + k + u] * B[(k + u) * N + c];
    }
    C[r * N + c] = acc;
}
