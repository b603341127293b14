// grid: ceil(N/32) ceil(M/8) 4
// block: 32 8
// fault: uninitialised output
// kinds: uninitialised_read
// Split-K adds its parts to C by atomicAdd, but nobody makes C zero first.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    const int part = (K + 3) / 4, begin = blockIdx.z * part, end = min(K, begin + part);
    float sum = 0;
    for (int k = begin; k < end; ++k) sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    atomicAdd(&C[(size_t)row * N + column], sum);
}
