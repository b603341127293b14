// grid: 1
// block: 32
// One warp for the whole product.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int e = threadIdx.x; e < M * N; e += 32) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += A[(size_t)(e / N) * K + k] * B[(size_t)k * N + e % N];
        C[e] = s;
    }
}
