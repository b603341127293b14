// grid: ceil(N/32) ceil(M/8)
// block: 32 4
// fault: race within a warp
// kinds: race wrong_result uninitialised_read
// A warp turns eight rows by itself, without __syncwarp() between its lanes' writes and reads of shared memory.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float piece[4][2][33];
    const int lane = threadIdx.x, w = threadIdx.y;
    const int row = blockIdx.y * 8 + 2 * w, column = blockIdx.x * 32 + lane;
    for (int k = 0; k < 2; ++k)
        if (row + k < M && column < N) piece[w][k][lane] = in[(size_t)(row + k) * N + column];
    const int k = lane & 1;
    for (int h = 0; h < 2; ++h) {
        const int j = lane / 2 + 16 * h, c = blockIdx.x * 32 + j;
        if (row + k < M && c < N) out[(size_t)c * M + row + k] = piece[w][k][j];
    }
}
