// grid: ceil(N/24) ceil(M/20)
// block: 12 10
// Outer products in registers, 2 x 2 per thread, in a block of 12 x 10; odd tiles throughout.
template <int R, int C2> struct Tile { float v[R][C2]; };
__global__ void mm_outer(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[7][20], b[7][24];
    const int t = threadIdx.y * 12 + threadIdx.x, r0 = blockIdx.y * 20, c0 = blockIdx.x * 24;
    Tile<2, 2> sum = {};
    for (int k0 = 0; k0 < K; k0 += 7) {
        __syncthreads();
        for (int i = t; i < 7 * 20; i += 120) {
            const int r = r0 + i / 7, k = k0 + i % 7;
            a[i % 7][i / 7] = r < M && k < K ? A[(size_t)r * K + k] : 0.0f;
        }
        for (int i = t; i < 7 * 24; i += 120) {
            const int k = k0 + i / 24, c = c0 + i % 24;
            b[i / 24][i % 24] = k < K && c < N ? B[(size_t)k * N + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < min(7, K - k0); ++k)
            for (int y = 0; y < 2; ++y)
                for (int x = 0; x < 2; ++x) sum.v[y][x] += a[k][threadIdx.y + 10 * y] * b[k][threadIdx.x + 12 * x];
    }
    for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x) {
            const int r = r0 + threadIdx.y + 10 * y, c = c0 + threadIdx.x + 12 * x;
            if (r < M && c < N) C[(size_t)r * N + c] = sum.v[y][x];
        }
}
