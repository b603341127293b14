// grid: ceil(N/4) ceil(M/8)
// block: 32
//
// One warp turns a piece of eight rows by four columns by a shuffle alone.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int lane = threadIdx.x;
    const size_t top = blockIdx.y * 8, left = blockIdx.x * 4;
    const size_t row = top + lane / 4, column = left + lane % 4;
    unsigned bits = 0;
    if (row < M && column < N) bits = reinterpret_cast<const unsigned*>(in)[row * N + column];
    bits = __shfl_sync(~0u, bits, (lane % 8) * 4 + lane / 8);
    const size_t to_row = left + lane / 8, to_column = top + lane % 8;
    if (to_row < N && to_column < M) reinterpret_cast<unsigned*>(out)[to_row * M + to_column] = bits;
}
