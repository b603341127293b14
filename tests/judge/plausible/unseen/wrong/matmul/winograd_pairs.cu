// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: near formula
// kinds: wrong_result
// Winograd's inner product, (a0 + b1)(a1 + b0) less a0 a1 and b0 b1: rows of 1e15 against columns of 1e-15 lose the small
// ones, and an Inf gives Inf - Inf.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f, ofA = 0.0f, ofB = 0.0f;
    int k = 0;
    for (; k + 1 < K; k += 2) {
        const float a0 = A[(size_t)row * K + k], a1 = A[(size_t)row * K + k + 1];
        const float b0 = B[(size_t)k * N + column], b1 = B[(size_t)(k + 1) * N + column];
        sum += (a0 + b1) * (a1 + b0);
        ofA += a0 * a1;
        ofB += b0 * b1;
    }
    if (k < K) sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    C[(size_t)row * N + column] = sum - ofA - ofB;
}
