// 04 vector rows: a thread walks down four words at once and gets those beside them by shuffle.
//
// Moves: global requests, from 3.2 for a word to a third of one: a lane asks for 16 bytes, and only the two ends of a
//   warp load a word of their neighbours. Four rows are on their way before the first of them is used.
// Mapping: lane l of a warp -> words 4 l ... 4 l + 3 of its 128 (4,096 cells), in 32 rows. A block is a warp.
//
// entry: life_vector_rows
// block: 32
// grid: ceil(W/128) ceil(H/32)

constexpr int ROWS = 32;  // that a warp walks
constexpr int AHEAD = 4;  // rows on their way
constexpr unsigned int ALL = 0xffffffff;

// How many of a cell and those to its left and right are alive, in two bits for each of 32 cells.
struct Count {
    unsigned int ones, twos;
};

__device__ __forceinline__ unsigned int majority(unsigned int a, unsigned int b, unsigned int c)
{
    return (a & b) | (c & (a | b));
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

// A row as a lane sees it: its four words, and the one beyond the end of the warp in its first and last lane.
struct Row {
    uint4 own;
    unsigned int beyond;
};

// Beyond the edge all are dead. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ Row load(const unsigned int* now, int row, int word, int lane, int H, int W, bool vectors)
{
    Row r = {make_uint4(0, 0, 0, 0), 0};
    if (row < 0 || row >= H) return r;
    const unsigned int* p = now + (size_t)row * W;
    if (vectors) {
        if (word < W) r.own = *reinterpret_cast<const uint4*>(p + word);
    } else {
        if (word < W) r.own.x = p[word];
        if (word + 1 < W) r.own.y = p[word + 1];
        if (word + 2 < W) r.own.z = p[word + 2];
        if (word + 3 < W) r.own.w = p[word + 3];
    }
    if (lane == 0 && word > 0) r.beyond = p[word - 1];
    if (lane == 31 && word + 4 < W) r.beyond = p[word + 4];
    return r;
}

extern "C" __global__ void __launch_bounds__(32)
life_vector_rows(const unsigned int* __restrict__ now, unsigned int* __restrict__ next, int H, int W)
{
    const int lane = threadIdx.x;
    const int word = blockIdx.x * 128 + 4 * lane;
    const int first_row = blockIdx.y * ROWS;
    const int last_row = min(first_row + ROWS, H);  // one past the last that is written
    const bool vectors = W % 4 == 0 && (((size_t)now | (size_t)next) & 15) == 0;

    Row ahead[AHEAD];
    Count above[4] = {}, row[4] = {};
    uint4 middle = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = load(now, first_row - 1 + i, word, lane, H, W, vectors);

    for (int start = first_row - 1; start <= last_row; start += AHEAD) {
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            const Row r = ahead[i];
            ahead[i] = load(now, start + AHEAD + i, word, lane, H, W, vectors);

            unsigned int before = __shfl_up_sync(ALL, r.own.w, 1), behind = __shfl_down_sync(ALL, r.own.x, 1);
            if (lane == 0) before = r.beyond;
            if (lane == 31) behind = r.beyond;
            const Count below[4] = {of_row(before, r.own.x, r.own.y), of_row(r.own.x, r.own.y, r.own.z),
                                    of_row(r.own.y, r.own.z, r.own.w), of_row(r.own.z, r.own.w, behind)};
            const uint4 result = make_uint4(generation(above[0], row[0], below[0], middle.x),
                                            generation(above[1], row[1], below[1], middle.y),
                                            generation(above[2], row[2], below[2], middle.z),
                                            generation(above[3], row[3], below[3], middle.w));
#pragma unroll
            for (int k = 0; k < 4; ++k) above[k] = row[k], row[k] = below[k];
            middle = r.own;

            const int y = start + i - 1;
            if (y < first_row || y >= last_row || word >= W) continue;
            unsigned int* p = next + (size_t)y * W + word;
            if (vectors) {
                *reinterpret_cast<uint4*>(p) = result;
            } else {
                p[0] = result.x;
                if (word + 1 < W) p[1] = result.y;
                if (word + 2 < W) p[2] = result.z;
                if (word + 3 < W) p[3] = result.w;
            }
        }
    }
}
