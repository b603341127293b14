// Register-tiled product, everything unrolled: 64x64 tile, 8x8 per thread, 64 threads, BK=80.
constexpr int BM = 64, BN = 64, BK = 80, TM = 8, TN = 8;
extern "C" __global__ void unrolled_sgemm(int M, int N, int K, const float* A, const float* B, float* C)
{
    __shared__ float a[BK][BM], b[BK][BN];
    const int t = threadIdx.x, tx = t % 8, ty = t / 8;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
#pragma unroll
        for (int i = 0; i < BM * BK / 64; ++i) {
            const int e = t + i * 64, r = e / BK, c = e % BK;
            a[c][r] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < BN * BK / 64; ++i) {
            const int e = t + i * 64, r = e / BN, c = e % BN;
            b[r][c] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) x[i] = a[k][ty * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) y[j] = b[k][tx * TN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int r = row0 + ty * TM + i, c = col0 + tx * TN + j;
            if (r < M && c < N) C[r * N + c] = acc[i][j];
        }
}
