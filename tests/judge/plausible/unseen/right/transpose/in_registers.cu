// grid: ceil(N/32) ceil(M/32)
// block: 32
// A warp turns a tile of 32 x 32 in its registers with five rounds of shuffles, without shared memory.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const unsigned* from = reinterpret_cast<const unsigned*>(in);
    unsigned* to = reinterpret_cast<unsigned*>(out);
    const int lane = threadIdx.x, column0 = blockIdx.x * 32, row0 = blockIdx.y * 32;
    unsigned v[32];
#pragma unroll
    for (int r = 0; r < 32; ++r) v[r] = row0 + r < M && column0 + lane < N ? from[(size_t)(row0 + r) * N + column0 + lane] : 0u;
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) {
        const bool upper = lane & s;
#pragma unroll
        for (int r = 0; r < 32; ++r) {
            if (r & s) continue;
            const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? v[r] : v[r + s], s);
            if (upper) v[r] = got;
            else v[r + s] = got;
        }
    }
#pragma unroll
    for (int r = 0; r < 32; ++r)
        if (column0 + r < N && row0 + lane < M) to[(size_t)(column0 + r) * M + row0 + lane] = v[r];
}
