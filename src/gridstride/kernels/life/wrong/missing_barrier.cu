// Missing barrier: a thread reads the words beside its own from shared memory before they have been put there.
//
// entry: life_missing_barrier
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: race

__device__ unsigned int generation(const unsigned int (&l)[3], const unsigned int (&c)[3], const unsigned int (&r)[3])
{
    // Bits of the count of all nine cells, modulo 16, added one after another.
    unsigned int bit[4] = {0, 0, 0, 0};
    for (int i = 0; i < 9; ++i) {
        unsigned int carry = i % 3 == 0 ? l[i / 3] : i % 3 == 1 ? c[i / 3] : r[i / 3];
        for (int b = 0; b < 4; ++b) {
            const unsigned int sum = bit[b] ^ carry;
            carry &= bit[b];
            bit[b] = sum;
        }
    }
    const unsigned int three = bit[0] & bit[1] & ~bit[2] & ~bit[3], four = ~bit[0] & ~bit[1] & bit[2] & ~bit[3];
    return three | (four & c[1]);
}

extern "C" __global__ void life_missing_barrier(const unsigned int* now, unsigned int* next, int H, int W)
{
    __shared__ unsigned int tile[10][34];
    for (int e = threadIdx.y * 32 + threadIdx.x; e < 340; e += 256) {
        const int y = (int)blockIdx.y * 8 - 1 + e / 34, x = (int)blockIdx.x * 32 - 1 + e % 34;
        const bool inside = y >= 0 && y < H && x >= 0 && x < W;
        tile[e / 34][e % 34] = inside ? now[(size_t)y * W + x] : 0;  // <- here
    }
    const int word = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;
    unsigned int l[3], c[3], r[3];
    for (int k = 0; k < 3; ++k) {
        const unsigned int* p = &tile[threadIdx.y + k][threadIdx.x + 1];
        c[k] = p[0];                                           // <- here
        l[k] = c[k] << 1 | p[-1] >> 31, r[k] = c[k] >> 1 | p[1] << 31;  // <- here
    }
    next[(size_t)row * W + word] = generation(l, c, r);
}
