// grid: ceil(N/8) ceil(M/4)
// block: 32
// A warp turns a tile of 4 x 8: one shuffle of the bits hands every lane the element that it stores.
__global__ void transpose_warp(const float* in, float* out, int M, int N)
{
    const int lane = threadIdx.x, r0 = blockIdx.y * 4, c0 = blockIdx.x * 8;
    const int r = r0 + lane / 8, c = c0 + lane % 8;
    const unsigned v = r < M && c < N ? __float_as_uint(in[(size_t)r * N + c]) : 0;
    const int to_r = lane % 4, to_c = lane / 4;
    const unsigned w = __shfl_sync(0xffffffffu, v, to_r * 8 + to_c);
    if (r0 + to_r < M && c0 + to_c < N) out[(size_t)(c0 + to_c) * M + r0 + to_r] = __uint_as_float(w);
}
