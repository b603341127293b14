// A warp transposes 32 x 32 elements in registers: five rounds of exchanges between lanes, no shared memory.
// grid: ceil(N/32) ceil(M/32)
// block: 32
__global__ void transpose(const float* in_, float* out_, int M, int N)
{
    const unsigned int* in = reinterpret_cast<const unsigned int*>(in_);
    unsigned int* out = reinterpret_cast<unsigned int*>(out_);
    const int lane = threadIdx.x, x = blockIdx.x * 32, y = blockIdx.y * 32;
    unsigned int v[32];
#pragma unroll
    for (int r = 0; r < 32; ++r) v[r] = y + r < M && x + lane < N ? in[(size_t)(y + r) * N + x + lane] : 0u;
#pragma unroll
    for (int w = 16; w > 0; w /= 2)
#pragma unroll
        for (int r = 0; r < 32; ++r)
            if (!(r & w)) {
                const bool upper = lane & w;
                const unsigned int give = upper ? v[r] : v[r | w];
                const unsigned int got = __shfl_xor_sync(~0u, give, w);
                if (upper) v[r] = got; else v[r | w] = got;
            }
#pragma unroll
    for (int r = 0; r < 32; ++r) if (x + r < N && y + lane < M) out[(size_t)(x + r) * M + y + lane] = v[r];
}
