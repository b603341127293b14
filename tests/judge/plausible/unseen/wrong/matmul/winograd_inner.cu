// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: numerics: cancellation, NaN
// kinds: wrong_result
// Winograd's inner product, (a0 + b1)(a1 + b0) less the products that are no answer: half the multiplications, but a
// and b of different scales are added.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    const float* a = A + (size_t)row * K;
    float sum = 0, xi = 0, eta = 0;
    int k = 0;
    for (; k + 1 < K; k += 2) {
        const float b0 = B[(size_t)k * N + column], b1 = B[(size_t)(k + 1) * N + column];
        sum += (a[k] + b1) * (a[k + 1] + b0);
        xi += a[k] * a[k + 1];
        eta += b0 * b1;
    }
    sum -= xi + eta;
    if (k < K) sum += a[k] * B[(size_t)k * N + column];
    C[(size_t)row * N + column] = sum;
}
