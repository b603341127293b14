// grid: ceil(N/128) M
// block: 32
// fault: alignment of one array
// kinds: misaligned
// Four columns at a time where N is a multiple of four: B and C may begin 4 bytes past all the same.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const size_t row = blockIdx.y;
    const int column = 4 * (blockIdx.x * 32 + threadIdx.x);
    if (column >= N) return;
    if (N % 4 == 0) {
        float4 sum = make_float4(0, 0, 0, 0);
        for (int k = 0; k < K; ++k) {
            const float a = A[row * K + k];
            const float4 b = *(const float4*)&B[(size_t)k * N + column];
            sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
        }
        C[row * N + column] = sum.x, C[row * N + column + 1] = sum.y;
        C[row * N + column + 2] = sum.z, C[row * N + column + 3] = sum.w;
    } else {
        for (int j = column; j < column + 4 && j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[(size_t)k * N + j];
            C[row * N + j] = sum;
        }
    }
}
