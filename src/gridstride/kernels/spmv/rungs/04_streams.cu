// 04 streams: a block brings the entries of many rows as one stream, whatever their lengths, puts the products into
// shared memory, and only then adds up rows (CSR-stream and CSR-vector, Greathouse and Daga 2014).
//
// Moves: sectors, to what there is: lanes read side by side also where rows are short. Requests to a sixth of the
//   warp's per row with 5 entries a row. How many rows a run has follows from how many entries these have.
// Mapping: block b -> rows 256 b to 256 b + 255, in runs that fit 2048 products; thread t -> entries t, t + 256 ... of
//   a run, then, with 256 / (rows of the run) lanes a row, a share of one row's products. Runs that do not fit: warp w
//   -> rows w, w + 8 ...; rows that are longer than 2048: the whole block.
//
// entry: spmv_streams
// block: 256
// grid: ceil(rows/256)

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int BLOCKS = 6;       // of a multiprocessor: with more, the loads on their way no longer fit the registers
constexpr int ROWS = 256;       // of a block
constexpr int UNROLL = 8;       // entries of a thread on their way
constexpr int ROOM = THREADS * UNROLL;  // products in shared memory
constexpr unsigned int ALL_LANES = 0xffffffffu;

// Where a product lies, with a word left out behind eight: rows of 8, 16 or 32 entries would all begin in one bank.
__device__ constexpr int padded(int k) { return k + (k >> 3); }

__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int away = 16; away > 0; away /= 2) value += __shfl_xor_sync(ALL_LANES, value, away);
    return value;
}

// The products of entries from first to end, `step` apart, added up: for rows with entries for a warp or a block.
__device__ __forceinline__ float sum_of(
    const int* __restrict__ indices, const float* __restrict__ values, const float* __restrict__ x,
    long long first, int end, int step)
{
    float sum = 0.0f;
#pragma unroll 4
    for (long long k = first; k < end; k += step) sum += __ldcs(values + k) * x[__ldcs(indices + k)];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) spmv_streams(
    const int* __restrict__ offsets, const int* __restrict__ indices, const float* __restrict__ values,
    const float* __restrict__ x, float* __restrict__ y, int rows, int entries)
{
    __shared__ int starts[ROWS + 1];
    __shared__ float products[padded(ROOM)];
    __shared__ float of_warps[WARPS];

    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const long long first_row = (long long)blockIdx.x * ROWS;
    const int count = (int)min((long long)ROWS, rows - first_row);
    for (int r = t; r <= count; r += THREADS) starts[r] = offsets[first_row + r];
    __syncthreads();

    // Rows of a run, such that three quarters of the room are enough where lengths are even.
    const long long all = starts[count] - starts[0];
    int run = ROWS;
    while (run > WARPS && all * run > (long long)(ROOM * 3 / 4) * count) run /= 2;
    const int lanes = THREADS / run;  // of a row, from 1 to 32

    for (int first = 0; first < count; first += run) {
        const int last = min(first + run, count);
        const int begin = starts[first], end = starts[last];
        if (end - begin <= ROOM) {
            const int* columns_from = indices + begin + t;
            const float* values_from = values + begin + t;
            const int left = end - begin - t;  // from the thread's first entry on
            int column[UNROLL];
            float value[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                if (u * THREADS < left) column[u] = __ldcs(columns_from + u * THREADS);
                if (u * THREADS < left) value[u] = __ldcs(values_from + u * THREADS);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
                if (u * THREADS < left) products[padded(t) + u * padded(THREADS)] = value[u] * x[column[u]];
            __syncthreads();
            const int row = first + t / lanes;
            float sum = 0.0f;
            if (row < last)
                for (int k = starts[row] - begin + t % lanes; k < starts[row + 1] - begin; k += lanes)
                    sum += products[padded(k)];
            for (int away = lanes / 2; away > 0; away /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, away);
            if (row < last && t % lanes == 0) y[first_row + row] = sum;
            __syncthreads();  // all have read the products
            continue;
        }
        for (int row = first + warp; row < last; row += WARPS) {
            if (starts[row + 1] - starts[row] > ROOM) continue;
            const float sum = warp_sum(sum_of(indices, values, x, starts[row] + (long long)lane, starts[row + 1], 32));
            if (lane == 0) y[first_row + row] = sum;
        }
        for (int row = first; row < last; ++row) {
            if (starts[row + 1] - starts[row] <= ROOM) continue;
            const float part =
                warp_sum(sum_of(indices, values, x, starts[row] + (long long)t, starts[row + 1], THREADS));
            if (lane == 0) of_warps[warp] = part;
            __syncthreads();
            if (t == 0) {
                float sum = 0.0f;
                for (int w = 0; w < WARPS; ++w) sum += of_warps[w];
                y[first_row + row] = sum;
            }
            __syncthreads();  // all parts have been read
        }
    }
}
