// Sorting and scanning in one pass over the data: onesweep radix passes, segmented scan, histograms.
constexpr int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS, DIGITS = 256;
constexpr unsigned READY = 1u << 30, DONE = 2u << 30, VALUE = READY - 1;

extern "C" __global__ void digit_counts(const unsigned *keys, int n, unsigned *counts) {  // of all four digits
    __shared__ unsigned own[4][DIGITS];
    for (int i = threadIdx.x; i < 4 * DIGITS; i += blockDim.x) own[0][i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (int d = 0; d < 4; ++d) atomicAdd(&own[d][keys[i] >> 8 * d & 255], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 4 * DIGITS; i += blockDim.x) if (own[0][i]) atomicAdd(&counts[i], own[0][i]);
}

extern "C" __global__ void digit_starts(unsigned *counts) {  // block d: exclusive sums of digit d's counts
    __shared__ unsigned s[DIGITS];
    unsigned t = threadIdx.x, mine = counts[blockIdx.x * DIGITS + t], before;
    s[t] = mine;
    for (int apart = 1; apart < DIGITS; apart *= 2) {
        __syncthreads();
        before = t >= apart ? s[t - apart] : 0;
        __syncthreads();
        s[t] += before;
    }
    counts[blockIdx.x * DIGITS + t] = s[t] - mine;
}

// A stable pass by one digit. Each warp ranks its keys by matching; tiles look back for what lies before them.
extern "C" __global__ void __launch_bounds__(THREADS)
onesweep(const unsigned *keys, const unsigned *values, unsigned *keys_out, unsigned *values_out, int n, int shift,
         const unsigned *starts, unsigned *status, int *next) {
    __shared__ unsigned warp_counts[THREADS / 32][DIGITS], base[DIGITS];
    __shared__ int tile_;
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) tile_ = atomicAdd(next, 1);
    for (int i = t; i < THREADS / 32 * DIGITS; i += THREADS) warp_counts[0][i] = 0;
    __syncthreads();
    int tile = tile_, first = tile * TILE + warp * 32 * ITEMS + lane;
    unsigned key[ITEMS], rank[ITEMS];
    for (int i = 0; i < ITEMS; ++i) {
        bool inside = first + i * 32 < n;
        key[i] = inside ? keys[first + i * 32] : ~0u;
        unsigned digit = inside ? key[i] >> shift & 255 : 256, same = __match_any_sync(~0u, digit);
        unsigned before = same & (1u << lane) - 1, seen = 0;
        if (inside) seen = warp_counts[warp][digit];
        __syncwarp();
        if (inside && !before) warp_counts[warp][digit] += __popc(same);
        __syncwarp();
        rank[i] = seen + __popc(before);
    }
    __syncthreads();
    for (int digit = t; digit < DIGITS; digit += THREADS) {
        unsigned total = 0;
        for (int w = 0; w < THREADS / 32; ++w) { unsigned c = warp_counts[w][digit]; warp_counts[w][digit] = total; total += c; }
        volatile unsigned *row = status + digit;
        unsigned sum = 0;
        if (tile > 0) {
            row[tile * DIGITS] = READY | total;
            for (int p = tile - 1;;) {
                unsigned s = row[p * DIGITS];
                if (!(s & ~VALUE)) continue;
                sum += s & VALUE;
                if (s & DONE) break;
                --p;
            }
        }
        row[tile * DIGITS] = DONE | (sum + total);
        base[digit] = starts[digit] + sum;
    }
    __syncthreads();
    for (int i = 0; i < ITEMS; ++i)
        if (first + i * 32 < n) {
            unsigned digit = key[i] >> shift & 255, to = base[digit] + warp_counts[warp][digit] + rank[i];
            keys_out[to] = key[i];
            values_out[to] = values[first + i * 32];
        }
}

// Inclusive sums that begin anew where a flag is set; one block, carried from tile to tile.
extern "C" __global__ void segmented(const int *x, const unsigned char *heads, int *y, int n) {
    __shared__ int sums[32], marks[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, carry = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        int i = start + t, v = i < n ? x[i] : 0, head = i < n ? heads[i] : 0;
        for (int apart = 1; apart < 32; apart *= 2) {
            int before = __shfl_up_sync(~0u, v, apart), mark = __shfl_up_sync(~0u, head, apart);
            if (lane >= apart) { if (!head) v += before; head |= mark; }
        }
        if (lane == 31) { sums[warp] = v; marks[warp] = head; }
        __syncthreads();
        int before = carry;
        for (int w = 0; w < warp; ++w) before = marks[w] ? sums[w] : before + sums[w];
        if (i < n) y[i] = head ? v : v + before;
        for (int w = 0; w < blockDim.x / 32; ++w) carry = marks[w] ? sums[w] : carry + sums[w];
        __syncthreads();
    }
}

// Equal bytes of a warp are counted once: the lowest lane of each value adds for all.
extern "C" __global__ void bytes_counted(const uchar4 *x, int n, unsigned *bins) {
    __shared__ unsigned own[DIGITS];
    for (int i = threadIdx.x; i < DIGITS; i += blockDim.x) own[i] = 0;
    __syncthreads();
    int rounds = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x), i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; ++r, i += gridDim.x * blockDim.x) {
        uchar4 v = i < n ? x[i] : uchar4{};
        int each[4] = {v.x, v.y, v.z, v.w};
        for (int j = 0; j < 4; ++j) {
            unsigned same = __match_any_sync(~0u, i < n ? each[j] : -1);
            if (i < n && threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&own[each[j]], __popc(same));
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < DIGITS; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}
