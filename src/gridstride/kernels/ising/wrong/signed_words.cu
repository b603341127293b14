// Signed words: half of all words are negative as int, and below any chance.
//
// entry: ising_signed_words
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

__device__ __forceinline__ uint4 philox(uint4 c, unsigned int seed)
{
    uint2 key = make_uint2(seed, 0);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned int high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        const unsigned int high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void
ising_signed_words(const unsigned char* spins, unsigned char* after, int H, int W, int colour, unsigned int three,
                   unsigned int four, unsigned int half_sweep, unsigned int seed)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const size_t above = (size_t)((row + H - 1) % H) * W, below = (size_t)((row + 1) % H) * W, own = (size_t)row * W;
    const int up = spins[above + column] + spins[below + column] + spins[own + (column + W - 1) % W] +
                   spins[own + (column + 1) % W];
    const int spin = spins[own + column];
    const uint4 words = philox(make_uint4(row, column / 8, half_sweep, 0), seed);
    const int number = column % 8 / 2;
    const unsigned int word = number == 0 ? words.x : number == 1 ? words.y : number == 2 ? words.z : words.w;
    const int agree = spin ? up : 4 - up;
    const bool turns = agree < 3 || (int)word < (int)(agree == 3 ? three : four);
    after[own + column] = spin ^ (turns && (row + column + colour) % 2 == 0);
}
