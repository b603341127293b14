// fault: the path for one column reads B as float4 where K % 4 == 0, whatever B's address: N = 1, K = 4 k, B 4 bytes past
// kinds: misaligned
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M) return;
    if (N == 1) {
        float s = 0;
        if (K % 4 == 0)
            for (int k = threadIdx.x; k < K / 4; k += 32) {
                float4 b = ((const float4*)B)[k];
                const float* a = A + (size_t)row * K + 4 * k;
                s += a[0] * b.x + a[1] * b.y + a[2] * b.z + a[3] * b.w;
            }
        else
            for (int k = threadIdx.x; k < K; k += 32) s += A[(size_t)row * K + k] * B[k];
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (threadIdx.x == 0) C[row] = s;
        return;
    }
    if (col >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[(size_t)row * K + k] * B[(size_t)k * N + col];
    C[(size_t)row * N + col] = s;
}
