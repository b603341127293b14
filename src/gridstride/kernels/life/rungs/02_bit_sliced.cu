// 02 bit sliced: the 32 cells of a word at once, by adders made of and, or and exclusive or.
//
// Moves: instructions, to a few for a cell: a number of one bit per cell is a word, so one operation adds 32 of them.
//   Nine loads for a word instead of 288.
// Mapping: as in 01: thread (x, y) -> word = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. The three cells of a row
//   add up to two bits; the three rows to the nine cells around and in the middle, of which 3 mean life, 4 no change.
//
// entry: life_bit_sliced
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

// How many of a cell and those to its left and right are alive, in two bits for each of 32 cells.
struct Count {
    unsigned int ones, twos;
};

__device__ __forceinline__ unsigned int majority(unsigned int a, unsigned int b, unsigned int c)
{
    return (a & b) | (c & (a | b));
}

__device__ __forceinline__ unsigned int load(const unsigned int* now, int row, int word, int H, int W)
{
    return row >= 0 && row < H && word >= 0 && word < W ? now[(size_t)row * W + word] : 0u;
}

__device__ __forceinline__ Count of_row(unsigned int before, unsigned int middle, unsigned int behind)
{
    const unsigned int left = __funnelshift_l(before, middle, 1), right = __funnelshift_r(middle, behind, 1);
    return {left ^ middle ^ right, majority(left, middle, right)};
}

// The next generation from the counts of three rows: nine cells, the cell itself among them.
__device__ __forceinline__ unsigned int generation(Count a, Count b, Count c, unsigned int middle)
{
    const unsigned int ones = a.ones ^ b.ones ^ c.ones, carry = majority(a.ones, b.ones, c.ones);
    const unsigned int x = a.twos ^ b.twos, p = a.twos & b.twos, y = c.twos ^ carry, q = c.twos & carry;
    const unsigned int three = ones & (x ^ y) & ~(p | q);
    const unsigned int four = ~ones & ~(x ^ y) & ((x & y) | (p ^ q));
    return three | (middle & four);
}

extern "C" __global__ void life_bit_sliced(const unsigned int* now, unsigned int* next, int H, int W)
{
    const int word = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || word >= W) return;

    Count counts[3];
    unsigned int middle = 0;
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        const int from = row - 1 + r;
        const unsigned int centre = load(now, from, word, H, W);
        counts[r] = of_row(load(now, from, word - 1, H, W), centre, load(now, from, word + 1, H, W));
        if (r == 1) middle = centre;
    }
    next[(size_t)row * W + word] = generation(counts[0], counts[1], counts[2], middle);
}
