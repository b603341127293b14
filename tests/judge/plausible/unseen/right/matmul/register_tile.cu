// grid: ceil(N/64) ceil(M/64)
// block: 16 16
// 64 x 64 of C per block, 4 x 4 per thread, two buffers with one barrier per step, float4 where rows and addresses allow it.

__device__ __forceinline__ float4 four(const float* base, size_t row, int column, int rows, int columns, bool wide)
{
    if (row >= (size_t)rows || column >= columns) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float* p = base + row * columns + column;
    if (wide) return *reinterpret_cast<const float4*>(p);
    return make_float4(p[0], column + 1 < columns ? p[1] : 0.0f, column + 2 < columns ? p[2] : 0.0f, column + 3 < columns ? p[3] : 0.0f);
}

__global__ void __launch_bounds__(256) matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][65], b[2][16][64];
    const int t = threadIdx.y * 16 + threadIdx.x, row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    const bool wide_a = K % 4 == 0 && (reinterpret_cast<size_t>(A) & 15) == 0, wide_b = N % 4 == 0 && (reinterpret_cast<size_t>(B) & 15) == 0;
    float4 next_a, next_b;
    auto fetch = [&](int k0) {
        next_a = four(A, row0 + t / 4, k0 + t % 4 * 4, M, K, wide_a);
        next_b = four(B, k0 + t / 16, column0 + t % 16 * 4, K, N, wide_b);
    };
    auto put = [&](int s) {
        a[s][t % 4 * 4 + 0][t / 4] = next_a.x;
        a[s][t % 4 * 4 + 1][t / 4] = next_a.y;
        a[s][t % 4 * 4 + 2][t / 4] = next_a.z;
        a[s][t % 4 * 4 + 3][t / 4] = next_a.w;
        float* p = &b[s][t / 16][t % 16 * 4];
        p[0] = next_b.x, p[1] = next_b.y, p[2] = next_b.z, p[3] = next_b.w;
    };
    float sum[4][4] = {};
    int s = 0;
    if (K > 0) {
        fetch(0);
        put(0);
    }
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += 16, s ^= 1) {
        const bool more = k0 + 16 < K;
        if (more) fetch(k0 + 16);
#pragma unroll 4
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(a[s][k][threadIdx.y * 4 + i], b[s][k][threadIdx.x + 16 * j], sum[i][j]);
        if (more) put(s ^ 1);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = row0 + threadIdx.y * 4 + i, column = column0 + threadIdx.x + 16 * j;
            if (row < M && column < N) C[(size_t)row * N + column] = sum[i][j];
        }
}
