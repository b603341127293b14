// grid: ceil(N/64) M
// block: 64
// fault: index type
// kinds: wrong_result
// The place in B is a product of two sizes in 16 bits: wrong where K N is above 65,536.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 64 + threadIdx.x;
    const size_t row = blockIdx.y;
    if (column >= N) return;
    const uint16_t pitch = N;
    float sum = 0.0f;
    for (uint16_t k = 0; k < K; ++k) {
        const uint16_t place = k * pitch + column;
        sum += A[row * K + k] * B[place];
    }
    C[row * N + column] = sum;
}
