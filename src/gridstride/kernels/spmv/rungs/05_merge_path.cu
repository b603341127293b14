// 05 merge path: rows' ends and entries are one list, cut into equal shares (Merrill and Garland 2016). A row that
// lies in several shares is put together by the last of their blocks to come.
//
// The list has each row's entries and behind them the row's end: the end of row r is item offsets[r + 1] + r. So the
// rows that end before any item are found by a search, and entries are the items that are left.
//
// Moves: the time of the longest row, to that of all others: a thread has seven items, ends or entries, whatever the
//   lengths. On even rows it costs what 04 need not do: the search, and a scan of what rows left over.
// Mapping: block b -> items 3584 b to 3584 b + 3583, in four tiles. Of a tile thread t reads items t, t + 128 ..., and
//   adds up items 7 t to 7 t + 6. Half a warp searches for where one tile begins.
//
// entry: spmv_merge_path
// block: 128
// grid: ceil((rows+entries)/3584)

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int ITEMS = 7;               // of a thread; odd, so that lanes' items lie in all banks
constexpr int TILE = THREADS * ITEMS;  // items
constexpr int TILES = 4;               // of a share
constexpr int SHARE = TILES * TILE;    // items
constexpr int MOST_SHARES = (1ll << 32) / SHARE + 1;
constexpr int ENDS_AHEAD = 2;          // of a thread: more are many short rows, and come from the cache
constexpr int PROBES = 16;             // of a search, at a time
constexpr unsigned int ALL_LANES = 0xffffffffu;
static_assert(THREADS / PROBES > TILES, "a search for each tile and for the end of the last");

// Of a row that lies in several shares, by share: what the row's part in it adds up to, and by the share in which the
// row begins: how many of its shares are there. The last one takes that back to 0.
__device__ float goes_on[MOST_SHARES], ends_here[MOST_SHARES];
__device__ unsigned int arrived[MOST_SHARES];

// What a row's end leaves behind and what is behind the last one, of a run of items.
struct Partial {
    bool ended;
    float sum;
};

__device__ __forceinline__ Partial joined(Partial before, Partial after)
{
    return {before.ended || after.ended, after.ended ? after.sum : before.sum + after.sum};
}

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

// The parts of a row that lies in shares first to last, in an order of their own: by all threads.
__device__ float put_together(int first, int last, float* of_warps)
{
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int share = first + t; share <= last; share += THREADS)
        sum += __ldcg((share < last ? goes_on : ends_here) + share);
#pragma unroll
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, away);
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

extern "C" __global__ void __launch_bounds__(THREADS) spmv_merge_path(
    const int* __restrict__ offsets, const int* __restrict__ indices, const float* __restrict__ values,
    const float* __restrict__ x, float* __restrict__ y, int rows, int entries)
{
    __shared__ int items[2][TILE];  // of a tile: where its rows end, then its products as bits
    __shared__ Partial of_warps[2][WARPS];
    __shared__ float sums[WARPS];
    __shared__ int begins[TILES + 1];  // rows that end before each tile
    __shared__ float of_first;
    __shared__ bool complete[2];

    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
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
        int *ends_to = items[tile & 1] + t, *products_to = ends_to + ends;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
            if (i * THREADS < left) products_to[i * THREADS] = __float_as_int(value[i] * x[column[i]]);
#pragma unroll
        for (int i = 0; i < ENDS_AHEAD; ++i)
            if (i * THREADS < ends - t) ends_to[i * THREADS] = end_ahead[i] - entry;
        for (int end = t + ENDS_AHEAD * THREADS; end < ends; end += THREADS)
            items[tile & 1][end] = offsets[row + 1ll + end] - entry;
    };

    // The first row to end here may have begun in a share before this one, and the last may go on.
    const int first_row = begins[0], last_row = begins[TILES];
    const bool from_before = first_row < rows && (long long)offsets[first_row] + first_row < start;
    Partial carry = {false, 0.0f};  // of all tiles before, the same in all threads
    fetch(0);
    for (int tile = 0; tile < TILES && begin_of(tile) < stop; ++tile) {
        store(tile);
        __syncthreads();
        if (tile + 1 < TILES) fetch(tile + 1);

        const int* ends = items[tile & 1];
        const int rows_here = begins[tile + 1] - begins[tile], count = (int)(begin_of(tile + 1) - begin_of(tile));
        const int own = min(t * ITEMS, count);
        int low = 0, high = min(rows_here, own);
        while (low < high) {
            const int middle = (low + high) / 2;
            if (ends[middle] + middle < own) low = middle + 1;
            else high = middle;
        }
        int row = low, entry = own - low;
        const int first_end = row;
        Partial rest = {false, 0.0f};
        float head = 0.0f;  // up to the first row's end
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (own + i >= count) break;
            if (row < rows_here && ends[row] <= entry) {
                if (rest.ended) y[begins[tile] + row] = rest.sum;
                else head = rest.sum;
                rest = {true, 0.0f};
                ++row;
            } else {
                rest.sum += __int_as_float(ends[rows_here + entry]);
                ++entry;
            }
        }

        Partial scanned = rest;
#pragma unroll
        for (int away = 1; away < 32; away *= 2) {
            const bool ended = __shfl_up_sync(ALL_LANES, (int)scanned.ended, away);
            const float sum = __shfl_up_sync(ALL_LANES, scanned.sum, away);
            if (lane >= away) scanned = joined({ended, sum}, scanned);
        }
        if (lane == 31) of_warps[tile & 1][warp] = scanned;
        const bool ended_before = __shfl_up_sync(ALL_LANES, (int)scanned.ended, 1);
        const float sum_before = __shfl_up_sync(ALL_LANES, scanned.sum, 1);
        __syncthreads();
        Partial before = carry;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            if (w == warp) before = carry;
            carry = joined(carry, of_warps[tile & 1][w]);
        }
        if (lane > 0) before = joined(before, {ended_before, sum_before});
        if (rest.ended) {
            const int ended = begins[tile] + first_end;
            if (ended == first_row && from_before) of_first = before.sum + head;
            else y[ended] = before.sum + head;
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
    if (t == 32) complete[1] = leaves_one && arrive(&goes_on[share], carry.sum, left_from, left_until);
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
