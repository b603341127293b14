// grid: ceil(N/64) ceil(M/64)
// block: 256
// fault: alignment in shared memory
// kinds: misaligned
// Rows of the shared tile are padded to 65 floats against conflicts, and read as float4: every row but each fourth
// is misaligned.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float as[16][65], bs[16][65];
    const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = threadIdx.x; e < 1024; e += 256) {
            int r = e / 16, k = e % 16;
            as[k][r] = row0 + r < M && k0 + k < K ? A[(size_t)(row0 + r) * K + k0 + k] : 0.0f;
            int kk = e / 64, c = e % 64;
            bs[kk][c] = k0 + kk < K && column0 + c < N ? B[(size_t)(k0 + kk) * N + column0 + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            float4 a = *(float4*)&as[k][ty * 4], b = *(float4*)&bs[k][tx * 4];
            const float av[4] = {a.x, a.y, a.z, a.w}, bv[4] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] += av[i] * bv[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            if (row0 + ty * 4 + i < M && column0 + tx * 4 + j < N) C[(size_t)(row0 + ty * 4 + i) * N + column0 + tx * 4 + j] = acc[i][j];
}
