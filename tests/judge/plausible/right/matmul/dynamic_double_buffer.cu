// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// shared: 2*4*(8*16+16*32)
// Double buffer in dynamic shared memory; the next tile is read into registers while this one is multiplied.
__global__ void mm_dynamic(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float memory[];
    const int x = threadIdx.x, y = threadIdx.y, t = y * 32 + x, r0 = blockIdx.y * 8, c = blockIdx.x * 32 + x;
    auto put = [&](int k0, int slot) {
        float* a = memory + slot * 640;
        if (t < 128) {
            const int r = r0 + t / 16, k = k0 + t % 16;
            a[t] = r < M && k < K ? A[(size_t)r * K + k] : 0.0f;
        }
        for (int k = y; k < 16; k += 8) a[128 + k * 32 + x] = k0 + k < K && c < N ? B[(size_t)(k0 + k) * N + c] : 0.0f;
    };
    float s = 0;
    put(0, 0);
    __syncthreads();
    for (int k0 = 0, slot = 0; k0 < K; k0 += 16, slot ^= 1) {
        if (k0 + 16 < K) put(k0 + 16, slot ^ 1);
        const float* a = memory + slot * 640;
        for (int k = 0; k < 16; ++k) s += a[y * 16 + k] * a[128 + k * 32 + x];
        __syncthreads();
    }
    if (r0 + y < M && c < N) C[(size_t)(r0 + y) * N + c] = s;
}
