// 06 equal shares: shares of one length as in 05, but within a tile rows are added up as in 04, by as many lanes as its
// number of rows leaves for each; a row that is long beside the others has a warp.
//
// Moves: barriers, to three fifths, as nothing is scanned, and instructions likewise where rows are of even length: no
//   thread searches or asks item by item which it is. A tile's length bounds what one row can hold up.
// Mapping: block b -> items 4096 b to 4096 b + 4095 of the list of 05, in four tiles. Of a tile thread t reads entries
//   t, t + 128 ..., then a group of 1 to 32 lanes adds up the tile's part of a row. Half a warp searches for where one
//   tile begins.
//
// entry: spmv_equal_shares
// block: 128
// grid: ceil((rows+entries)/4096)

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int BLOCKS = 12;             // of a multiprocessor: with more, loads on their way no longer fit the registers
constexpr int ITEMS = 8;               // of a thread
constexpr int TILE = THREADS * ITEMS;  // items
constexpr int TILES = 4;               // of a share
constexpr int SHARE = TILES * TILE;    // items
constexpr int MOST_SHARES = (1ll << 32) / SHARE + 1;
constexpr int ENDS_AHEAD = 2;          // of a thread: more are many short rows, and come from the cache
constexpr int PROBES = 16;             // of a search, at a time
constexpr int LONG = 16;               // entries for a lane; a row with more has a warp
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(THREADS / PROBES > TILES, "a search for each tile and for the end of the last");

// Of a row that lies in several shares, by share: what the row's part in it adds up to, and by the share in which the
// row begins: how many of its shares are there. The last one takes that back to 0.
__device__ float goes_on[MOST_SHARES], ends_here[MOST_SHARES];
__device__ unsigned int arrived[MOST_SHARES];

// Item number of the end of a row.
__device__ __forceinline__ long long end_of(const int* offsets, int row) { return (long long)offsets[row + 1] + row; }

// How many rows end before an item, by halves of a warp, each with an item of its own.
__device__ int rows_ended(const int* __restrict__ offsets, int rows, long long item)
{
    const int lane = threadIdx.x % 32, probe = lane % PROBES;
    int low = 0, high = (int)min((long long)rows, max(item, 0ll));
    while (__any_sync(ALL_LANES, low < high)) {
        const int step = (high - low) / (PROBES + 1) + 1;
        const long long row = low + (probe + 1ll) * step - 1;
        const bool before = row < high && end_of(offsets, (int)row) < item;
        const unsigned int votes = __ballot_sync(ALL_LANES, before) >> (lane & PROBES) & 0xffff;
        const int yes = __popc(votes);  // from the first probe on
        const long long next = low + (yes + 1ll) * step - 1;
        low += yes * step;
        if (yes < PROBES) high = (int)min((long long)high, next);
    }
    return low;
}

// Where a product lies, with a word left out behind eight: rows of 8, 16 or 32 entries would all begin in one bank.
__device__ constexpr int padded(int k) { return k + (k >> 3); }

__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int away = 16; away > 0; away /= 2) value += __shfl_xor_sync(ALL_LANES, value, away);
    return value;
}

// The parts of a row that lies in shares first to last, in an order of their own: by all threads.
__device__ float put_together(int first, int last, float* of_warps)
{
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int share = first + t; share <= last; share += THREADS)
        sum += __ldcg((share < last ? goes_on : ends_here) + share);
    sum = warp_sum(sum);
    if (t % 32 == 0) of_warps[t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < WARPS; ++w) sum += of_warps[w];
    __syncthreads();
    return sum;
}

// By one thread: a part is there. Whether all parts of shares first to last are; what they are is seen then.
__device__ bool arrive(float* part, float value, int first, int last)
{
    *part = value;
    __threadfence();
    if (atomicAdd(&arrived[first], 1u) != (unsigned int)(last - first)) return false;
    __threadfence();
    atomicExch(&arrived[first], 0u);
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) spmv_equal_shares(
    const int* __restrict__ offsets, const int* __restrict__ indices, const float* __restrict__ values,
    const float* __restrict__ x, float* __restrict__ y, int rows, int entries)
{
    __shared__ int items[2][padded(TILE)];  // of a tile: where its rows end, then its products as bits
    __shared__ float sums[WARPS];
    __shared__ int begins[TILES + 1];  // rows that end before each tile
    __shared__ float carry[2];  // what a tile leaves of the row that goes on behind it
    __shared__ float of_first;
    __shared__ bool complete[2];

    const int t = threadIdx.x;
    const long long all = (long long)offsets[rows] + rows;
    const long long start = (long long)blockIdx.x * SHARE, stop = min(start + SHARE, all);
    if (start >= all) return;
    const auto begin_of = [&](int tile) { return min(start + tile * TILE, stop); };

    const int searched = t / PROBES;  // of more halves of warps than there are tiles
    const int row_of_tile = rows_ended(offsets, rows, begin_of(min(searched, TILES)));
    if (t % PROBES == 0 && searched <= TILES) begins[searched] = row_of_tile;
    __syncthreads();

    // Of a tile: its rows' ends and its entries, two ends and all entries of a thread a tile ahead of time.
    int end_ahead[ENDS_AHEAD], column[ITEMS];
    float value[ITEMS];
    const auto fetch = [&](int tile) {
        const int row = begins[tile], ends = begins[tile + 1] - row;
        const long long entry = begin_of(tile) - row;
        const int left = (int)(begin_of(tile + 1) - begin_of(tile)) - ends - t;
        const int *ends_from = offsets + row + 1ll + t, *columns_from = indices + entry + t;
        const float* values_from = values + entry + t;
#pragma unroll
        for (int i = 0; i < ENDS_AHEAD; ++i)
            if (i * THREADS < ends - t) end_ahead[i] = __ldcs(ends_from + i * THREADS);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (i * THREADS < left) column[i] = __ldcs(columns_from + i * THREADS);
            if (i * THREADS < left) value[i] = __ldcs(values_from + i * THREADS);
        }
    };
    const auto store = [&](int tile) {
        const int row = begins[tile], ends = begins[tile + 1] - row;
        const int entry = (int)(begin_of(tile) - row), left = (int)(begin_of(tile + 1) - begin_of(tile)) - ends - t;
        int *ends_to = items[tile & 1] + t, *products_to = items[tile & 1] + ends + padded(t);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (i * THREADS < left) products_to[i * padded(THREADS)] = __float_as_int(value[i] * x[column[i]]);
#pragma unroll
        for (int i = 0; i < ENDS_AHEAD; ++i)
            if (i * THREADS < ends - t) ends_to[i * THREADS] = end_ahead[i] - entry;
        for (int end = t + ENDS_AHEAD * THREADS; end < ends; end += THREADS)
            items[tile & 1][end] = offsets[row + 1ll + end] - entry;
    };

    // The first row to end here may have begun in a share before this one, and the last may go on.
    const int first_row = begins[0], last_row = begins[TILES];
    const bool from_before = first_row < rows && (long long)offsets[first_row] + first_row < start;
    int tile = 0;
    if (t == 0) carry[1] = 0.0f;
    fetch(0);
    for (; tile < TILES && begin_of(tile) < stop; ++tile) {
        store(tile);
        __syncthreads();
        if (tile + 1 < TILES) fetch(tile + 1);

        const int row = begins[tile], rows_here = begins[tile + 1] - row;
        const int* ends = items[tile & 1];
        const int* products = ends + rows_here;
        const int all_here = (int)(begin_of(tile + 1) - begin_of(tile)) - rows_here;
        int lanes = 1;  // of a row; behind the rows that end here there is the one that goes on
        while (lanes < 32 && (rows_here + 1) * lanes * 2 <= THREADS) lanes *= 2;
        const int groups = THREADS / lanes, group = t / lanes;
        for (int round = 0; round <= rows_here; round += groups) {
            const int r = round + group;
            const int begin = r == 0 ? 0 : r <= rows_here ? ends[r - 1] : all_here;
            const int end = r < rows_here ? ends[r] : all_here;
            const bool is_long = end - begin > LONG * lanes;
            float sum = 0.0f;
            if (!is_long)
                for (int k = begin + t % lanes; k < end; k += lanes) sum += __int_as_float(products[padded(k)]);
            for (int away = lanes / 2; away > 0; away /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, away);
            for (unsigned int left = __ballot_sync(ALL_LANES, is_long && t % lanes == 0); left; left &= left - 1) {
                const int owner = __ffs(left) - 1, last = __shfl_sync(ALL_LANES, end, owner);
                float part = 0.0f;
                for (int k = __shfl_sync(ALL_LANES, begin, owner) + t % 32; k < last; k += 32)
                    part += __int_as_float(products[padded(k)]);
                part = warp_sum(part);
                if (t % 32 == owner) sum = part;
            }
            if (t % lanes == 0 && r <= rows_here) {
                if (r == 0) sum += carry[~tile & 1];
                if (r == rows_here) carry[tile & 1] = sum;
                else if (row + r == first_row && from_before) of_first = sum;
                else y[row + r] = sum;
            }
        }
    }
    __syncthreads();

    const bool ends_one = from_before && last_row > first_row;  // a row that began before, ends in this share
    const bool leaves_one = stop < all && last_row < rows && (long long)offsets[last_row] + last_row < stop;
    if (!ends_one && !leaves_one) return;
    const int share = blockIdx.x;
    const int ended_from = ends_one ? (int)(((long long)offsets[first_row] + first_row) / SHARE) : 0;
    const int left_from = leaves_one ? (int)(((long long)offsets[last_row] + last_row) / SHARE) : 0;
    const int left_until = leaves_one ? (int)(end_of(offsets, last_row) / SHARE) : 0;
    if (t == 0) complete[0] = ends_one && arrive(&ends_here[share], of_first, ended_from, share);
    if (t == 32) complete[1] = leaves_one && arrive(&goes_on[share], carry[~tile & 1], left_from, left_until);
    __syncthreads();
    if (complete[0]) {
        const float sum = put_together(ended_from, share, sums);
        if (t == 0) y[first_row] = sum;
    }
    if (complete[1]) {
        const float sum = put_together(left_from, left_until, sums);
        if (t == 0) y[last_row] = sum;
    }
}
