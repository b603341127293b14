// right: 32 x 32 tile in registers, turned by shuffles of powers of two
// grid: ceil(N/32) ceil(M/32)
// block: 32
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int lane = threadIdx.x, c0 = blockIdx.x * 32, r0 = blockIdx.y * 32;
    unsigned v[32];
#pragma unroll
    for (int k = 0; k < 32; ++k)
        v[k] = r0 + k < M && c0 + lane < N ? __float_as_uint(in[(size_t)(r0 + k) * N + c0 + lane]) : 0;
#pragma unroll
    for (int d = 16; d; d >>= 1) {
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            if (k & d) continue;
            unsigned send = lane & d ? v[k] : v[k | d];
            unsigned got = __shfl_xor_sync(~0u, send, d);
            if (lane & d) v[k] = got; else v[k | d] = got;
        }
    }
#pragma unroll
    for (int k = 0; k < 32; ++k)
        if (c0 + k < N && r0 + lane < M) out[(size_t)(c0 + k) * M + r0 + lane] = __uint_as_float(v[k]);
}
