// grid: ceil(N/32) 64
// block: 32 8
// fault: fixed count
// kinds: wrong_result uninitialised_read
// 64 blocks down, each with four steps of its eight rows: what lies below row 2,048 is never written.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    for (int step = 0; step < 4; ++step) {
        const int row = (step * 64 + blockIdx.y) * 8 + threadIdx.y;
        if (row < M && column < N) out[(size_t)column * M + row] = in[(size_t)row * N + column];
    }
}
