// Unguarded row: the rows above the first and below the last are read as if they were there.
//
// entry: life_unguarded_row
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

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

extern "C" __global__ void life_unguarded_row(const unsigned int* now, unsigned int* next, int H, int W)
{
    const int word = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;
    unsigned int l[3], c[3], r[3];
    for (int k = 0; k < 3; ++k) {
        const unsigned int* p = now + (long long)(row - 1 + k) * W;
        c[k] = p[word];  // <- here
        const unsigned int before = word > 0 ? p[word - 1] : 0, behind = word < W - 1 ? p[word + 1] : 0;  // <- here
        l[k] = c[k] << 1 | before >> 31, r[k] = c[k] >> 1 | behind << 31;
    }
    next[(size_t)row * W + word] = generation(l, c, r);
}
