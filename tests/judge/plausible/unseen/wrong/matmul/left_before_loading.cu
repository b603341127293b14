// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: uninitialised memory
// kinds: uninitialised_read
// Threads outside C return before they have loaded their part of the tiles: columns of A's tile (where N % 16 != 0) and rows of B's tile (where M % 16 != 0) are never written, and barriers are met by a part of the block.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[ty][tx] = k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        b[ty][tx] = k0 + ty < K ? B[(k0 + ty) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[row * N + column] = sum;
}
