// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// The column is an unsigned short: columns from 65536 on wrap around to 0 and are never written (N > 65536).

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const unsigned short column = blockIdx.x * 32 + threadIdx.x;
    const unsigned short row = blockIdx.y * 8 + threadIdx.y;
    if (row < M && column < N) out[(size_t)column * M + row] = in[(size_t)row * N + column];
}
