// grid: ceil(N/64) M
// block: 64
// fault: empty sizes
// kinds: out_of_bounds
// The sum begins with the first product, so that K = 0 reads elements that are not there.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    int j = blockIdx.x * 64 + threadIdx.x, i = blockIdx.y;
    if (j >= N) return;
    float s = A[(size_t)i * K] * B[j];
    for (int k = 1; k < K; ++k) s += A[(size_t)i * K + k] * B[(size_t)k * N + j];
    C[(size_t)i * N + j] = s;
}
