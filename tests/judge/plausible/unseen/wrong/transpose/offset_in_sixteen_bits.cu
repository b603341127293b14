// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: index type
// kinds: wrong_result race uninitialised_read
// The place in out is an unsigned short: wrong above 65,536 elements.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= N || row >= M) return;
    const unsigned short to = column * M + row;
    out[to] = in[(size_t)row * N + column];
}
