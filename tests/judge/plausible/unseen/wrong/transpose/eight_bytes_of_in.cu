// grid: ceil(N/64) ceil(M/4)
// block: 32 4
// fault: alignment of one array
// kinds: misaligned out_of_bounds
// Two elements of in are read at once, those of out are written one by one: in may begin 4 bytes past, and N may be odd.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int column = 2 * (blockIdx.x * 32 + threadIdx.x), row = blockIdx.y * 4 + threadIdx.y;
    if (column >= N || row >= M) return;
    const uint2 two = *reinterpret_cast<const uint2*>(in + (size_t)row * N + column);
    unsigned* to = reinterpret_cast<unsigned*>(out);
    to[(size_t)column * M + row] = two.x;
    if (column + 1 < N) to[(size_t)(column + 1) * M + row] = two.y;
}
