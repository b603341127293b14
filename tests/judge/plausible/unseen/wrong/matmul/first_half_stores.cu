// grid: ceil(N/32) ceil(M/8) 2
// block: 32 8
// fault: race
// kinds: race
// The blocks of the first half of k store to C, those of the second half add to it with atomicAdd: right only where the first have run before the second, which nothing promises (every size, K >= 1).

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= N || row >= M) return;
    const int half = (K + 1) / 2, begin = blockIdx.z * half, end = min(K, begin + half);
    float sum = 0.0f;
    for (int k = begin; k < end; ++k) sum = fmaf(A[row * K + k], B[k * N + column], sum);
    if (blockIdx.z == 0) C[row * N + column] = sum;
    else atomicAdd(&C[row * N + column], sum);
}
