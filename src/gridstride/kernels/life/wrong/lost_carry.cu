// Lost carry: a word is shifted by itself, so that its first and last cell miss their neighbours in the next word.
//
// entry: life_lost_carry
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

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

extern "C" __global__ void life_lost_carry(const unsigned int* now, unsigned int* next, int H, int W)
{
    const int word = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;
    unsigned int l[3], c[3], r[3];
    for (int k = 0; k < 3; ++k) {
        const int y = row - 1 + k;
        c[k] = y >= 0 && y < H ? now[(size_t)y * W + word] : 0;
        l[k] = c[k] << 1, r[k] = c[k] >> 1;
    }
    next[(size_t)row * W + word] = generation(l, c, r);
}
