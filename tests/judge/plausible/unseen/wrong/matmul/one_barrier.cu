// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: double buffer, barrier dropped
// kinds: race
// Two buffers, but the one barrier stands before the loads, not between the loads and the use of them.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][17], b[2][16][17];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    float sum = 0;
    int p = 0;
    for (int k0 = 0; k0 < K; k0 += 16, p ^= 1) {
        __syncthreads();
        a[p][ty][tx] = i < M && k0 + tx < K ? A[(size_t)i * K + k0 + tx] : 0;
        b[p][ty][tx] = k0 + ty < K && j < N ? B[(size_t)(k0 + ty) * N + j] : 0;
        for (int k = 0; k < 16; ++k) sum += a[p][ty][k] * b[p][k][tx];
    }
    if (i < M && j < N) C[(size_t)i * N + j] = sum;
}
