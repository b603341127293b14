// 03 walking column: a thread walks down its words and keeps the counts of the last two rows.
//
// Moves: loads, from nine for a word to 3 * 34 / 32 = 3.2, and instructions: the count of a row is made once, not
//   for each of the three rows that need it.
// Mapping: thread x of a block of 128 -> word = blockIdx.x * 128 + x, in 32 rows from blockIdx.y * 32 on.
//
// entry: life_walking_column
// block: 128
// grid: ceil(W/128) ceil(H/32)

constexpr int ROWS = 32;  // that a thread walks

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

extern "C" __global__ void __launch_bounds__(128)
life_walking_column(const unsigned int* __restrict__ now, unsigned int* __restrict__ next, int H, int W)
{
    const int word = blockIdx.x * 128 + threadIdx.x;
    const int first_row = blockIdx.y * ROWS;
    const int last_row = min(first_row + ROWS, H);  // one past the last that is written
    if (word >= W) return;

    Count above = {0, 0}, row = {0, 0};
    unsigned int middle = 0;
#pragma unroll 4
    for (int r = first_row - 1; r <= last_row; ++r) {
        const unsigned int centre = load(now, r, word, H, W);
        const Count below = of_row(load(now, r, word - 1, H, W), centre, load(now, r, word + 1, H, W));
        if (r > first_row) next[(size_t)(r - 1) * W + word] = generation(above, row, below, middle);
        above = row, row = below, middle = centre;
    }
}
