// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: divergent barrier
// kinds: barrier_divergence deadlock
// Threads inside C and threads outside have loops of their own with as many barriers each: where N % 16 is not 0 a warp is
// at two different ones.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 16 + x, r = blockIdx.y * 16 + y;
    if (r < M && c < N) {
        float s = 0;
        for (int k0 = 0; k0 < K; k0 += 16) {
            a[y][x] = k0 + x < K ? A[(size_t)r * K + k0 + x] : 0;
            b[y][x] = k0 + y < K ? B[(size_t)(k0 + y) * N + c] : 0;
            __syncthreads();
            for (int k = 0; k < 16; ++k) s += a[y][k] * b[k][x];
            __syncthreads();
        }
        C[(size_t)r * N + c] = s;
    } else {
        for (int k0 = 0; k0 < K; k0 += 16) {
            a[y][x] = r < M && k0 + x < K ? A[(size_t)r * K + k0 + x] : 0;
            b[y][x] = c < N && k0 + y < K ? B[(size_t)(k0 + y) * N + c] : 0;
            __syncthreads();
            __syncthreads();
        }
    }
}
