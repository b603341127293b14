// grid: 3*SMS
// block: 64
// Persistent blocks take tiles of 8 x 8 by stride; a tile's 64 threads read through the caches only.
__global__ void mm_persistent(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int columns = (N + 7) / 8, tiles = columns * ((M + 7) / 8);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int r = tile / columns * 8 + threadIdx.x / 8, c = tile % columns * 8 + threadIdx.x % 8;
        if (r >= M || c >= N) continue;
        double s = 0;
        for (int k = 0; k < K; ++k) s += (double)A[(size_t)r * K + k] * B[(size_t)k * N + c];
        C[(size_t)r * N + c] = (float)s;
    }
}
