// Straight. Where there is no shared memory there are no conflicts, and the count is 0 as it was asked for. The stride has
// only gone back to where it came from: each store of a warp goes down a column of `out`, to 32 sectors.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: too_many store_sectors

extern "C" __global__ void transpose(const float* in, float* out, int M, int N)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row < M && column < N) out[(size_t)column * M + row] = in[(size_t)row * N + column];  // <- here
}
