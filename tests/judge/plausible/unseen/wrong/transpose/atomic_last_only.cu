// grid: ceil(N/32), ceil(M/32)
// block: 32, 1
// fault: atomics within a warp
// kinds: race
// Each lane counts itself; all go on, whoever is last or not (the returned number is not waited for).

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float t[32][33]; __shared__ int c; __shared__ volatile int last; int l = threadIdx.x, x = blockIdx.x * 32 + l, y = blockIdx.y * 32; if (l == 0) { c = 0; last = -1; } __syncwarp();
    for (int k = 0; k < 32; k++) if (x < N && y + k < M) t[k][l] = in[(size_t)(y + k) * N + x];
    __threadfence_block(); int q = atomicAdd(&c, 1); if (q == 31) last = l; __threadfence_block();
    x = blockIdx.y * 32 + l; y = blockIdx.x * 32;
    for (int k = 0; k < 32; k++) if (x < M && y + k < N) out[(size_t)(y + k) * M + x] = t[l][k];
}
