// 03 bytes in a word: eight spins are a word of 64 bits, and neighbours of all eight are counted by three additions.
//
// Moves: global requests and instructions: three loads of eight bytes for 40 of one, and sums of eight bytes at once,
//   none of which exceeds 4. The spins beside the eight come by shuffle.
// Mapping: lane l of a warp -> columns 8 l ... 8 l + 7 of its 256, in one row; the 8 warps of a block are 8 rows. Where
//   a row is no multiple of 8, one by one as in 02.
//
// entry: ising_bytes_in_a_word
// block: 32 8
// grid: ceil(W/256) ceil(H/8)

constexpr unsigned int ALL = 0xffffffff;

typedef unsigned long long Eight;  // spins, the first in the lowest byte

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

// The spin of one cell afterwards, if it has the colour.
__device__ __forceinline__ unsigned int turned(unsigned int spin, unsigned int up, unsigned int word,
                                               unsigned int three, unsigned int four)
{
    const unsigned int agree = spin ? up : 4 - up;
    return spin ^ (agree < 3 || word < (agree == 3 ? three : four) ? 1u : 0u);
}

// Eight columns of a row, or as many as there are, one by one.
__device__ __forceinline__ void eight_columns(const unsigned char* spins, unsigned char* after, int row, int first,
                                              int H, int W, int colour, uint4 words, unsigned int three,
                                              unsigned int four)
{
    const size_t above = (size_t)(row > 0 ? row - 1 : H - 1) * W, own = (size_t)row * W;
    const size_t below = (size_t)(row < H - 1 ? row + 1 : 0) * W;
    const unsigned int word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int column = first + k;
        if (column >= W) break;
        unsigned int spin = spins[own + column];
        if ((row + column + colour) % 2 == 0) {
            const int left = column > 0 ? column - 1 : W - 1, right = column < W - 1 ? column + 1 : 0;
            const unsigned int up =
                spins[above + column] + spins[below + column] + spins[own + left] + spins[own + right];
            spin = turned(spin, up, word[k / 2], three, four);
        }
        after[own + column] = spin;
    }
}

extern "C" __global__ void __launch_bounds__(256)
ising_bytes_in_a_word(const unsigned char* __restrict__ spins, unsigned char* __restrict__ after, int H, int W,
                      int colour, unsigned int three, unsigned int four, unsigned int half_sweep, unsigned int seed)
{
    const int first = 8 * (blockIdx.x * 32 + threadIdx.x);
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H) return;
    const uint4 words = philox(make_uint4(row, first / 8, half_sweep, 0), seed);
    if (W % 8 != 0 || (((size_t)spins | (size_t)after) & 7) != 0) {
        eight_columns(spins, after, row, first, H, W, colour, words, three, four);
        return;
    }

    const unsigned char* line = spins + (size_t)row * W;
    const unsigned char* above = spins + (size_t)(row > 0 ? row - 1 : H - 1) * W;
    const unsigned char* below = spins + (size_t)(row < H - 1 ? row + 1 : 0) * W;
    const bool inside = first < W;
    const Eight own = inside ? *reinterpret_cast<const Eight*>(line + first) : 0;
    Eight left = __shfl_up_sync(ALL, own, 1) >> 56, right = __shfl_down_sync(ALL, own, 1) & 255;
    if (!inside) return;
    if (threadIdx.x == 0) left = line[first > 0 ? first - 1 : W - 1];
    if (threadIdx.x == 31 || first + 8 >= W) right = line[first + 8 < W ? first + 8 : 0];

    const Eight up = *reinterpret_cast<const Eight*>(above + first) + *reinterpret_cast<const Eight*>(below + first) +
                     (own << 8 | left) + (own >> 8 | right << 56);
    const unsigned int word[4] = {words.x, words.y, words.z, words.w};
    const int start = (row + colour) % 2;  // the first of the colour: columns begin at a multiple of 8
    Eight result = own;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int shift = 8 * (2 * k + start);
        const unsigned int spin = own >> shift & 1;
        result ^= (Eight)(spin ^ turned(spin, up >> shift & 7, word[k], three, four)) << shift;
    }
    *reinterpret_cast<Eight*>(after + (size_t)row * W + first) = result;
}
