// grid: ceil(N/32) ceil(M/8)
// block: 32 8
//
// The sum over k by halving, recursively: pairwise summation, at most nine calls deep.

__device__ float dot(const float* a, const float* b, long long pitch, int from, int to)
{
    if (to - from <= 200) {
        float sum = 0.0f;
        for (int k = from; k < to; ++k) sum += a[k] * b[k * pitch];
        return sum;
    }
    const int middle = from + (to - from) / 2;
    return dot(a, b, pitch, from, middle) + dot(a, b, pitch, middle, to);
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    const int half = K / 2;
    C[(size_t)row * N + column] = dot(A + (size_t)row * K, B + column, N, 0, half) + dot(A + (size_t)row * K, B + column, N, half, K);
}
