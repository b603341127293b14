// The 200-line kernel whose compile time is measured: fp32 attention, forward, in one pass over the keys.
//
// For each query q: softmax over the keys k that it may see of (q . k * scale + slope * distance), times the values.
// The sums of a row are rescaled as its largest score grows, so that no row of scores is ever stored.
//
// Shapes: Q and O are [batch][heads][queries][D], K and V [batch][kv_heads][keys][D], all row major, D = 64;
//   log_sum, where it is not null, is [batch][heads][queries] and gets the logarithm of what the softmax divides by.
// Query i sits at position i + keys - queries; causal: it sees no later key; window > 0: none further back than that.
//
// Mapping: a block of 16x16 threads owns 64 queries of one head. Thread (x, y) computes the scores of queries
//   y + 16i with keys x + 16j, and then columns x + 16j of the result for the same queries: 4x4 values each time.
//   The 16 threads of a query are neighbours in a warp, so a row is summed by four shuffles.
//
// entry: attention
// block: 16 16
// grid: ceil(queries/64) heads batch

constexpr int D = 64;             // columns of Q, K, V and O
constexpr int ROWS = 64;          // queries per block
constexpr int KEYS = 64;          // keys per tile
constexpr int SIDE = 16;          // threads along each side of the block
constexpr int PER = ROWS / SIDE;  // queries, keys and columns of a thread: 4
constexpr int PAD = 1;            // floats, so that a column of a tile lies in 32 different banks
constexpr int THREADS = SIDE * SIDE;
constexpr float LOG2E = 1.4426950408889634f;
constexpr float LN2 = 0.6931471805599453f;
constexpr float NOTHING = -1e30f;  // the score of a key that is not seen: finite, so that 0 * it stays 0

struct Shape {
    int heads, kv_heads, queries, keys;
    int window;  // keys back that a query sees; 0 for all
    int causal;  // 0 or 1
    float scale;
};

// A tile of rows as it lies in shared memory.
struct Tile {
    float value[KEYS][D + PAD];

    // Brings `rows` rows of D floats from `source`; what lies past them is 0.
    __device__ __forceinline__ void load(const float* __restrict__ source, int rows, int thread)
    {
        for (int e = thread; e < KEYS * D / 4; e += THREADS) {
            const int row = e / (D / 4), column = 4 * (e % (D / 4));
            float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (row < rows) v = *reinterpret_cast<const float4*>(source + (size_t)row * D + column);
            value[row][column + 0] = v.x;
            value[row][column + 1] = v.y;
            value[row][column + 2] = v.z;
            value[row][column + 3] = v.w;
        }
    }
};

// The largest and the sum over the 16 threads that share a query: they are neighbours in a warp, and xor with 8, 4, 2
// and 1 stays among them.
__device__ __forceinline__ float row_max(float value)
{
    for (int step = SIDE / 2; step > 0; step /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step, SIDE));
    }
    return value;
}

__device__ __forceinline__ float row_sum(float value)
{
    for (int step = SIDE / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, step, SIDE);
    }
    return value;
}

// The bias of a key `distance` behind the query: a slope per head, as ALiBi has it, in units of log2.
__device__ __forceinline__ float bias(float slope, int distance) { return -slope * (float)distance; }

// Whether the query at `position` sees `key`.
__device__ __forceinline__ bool seen(const Shape& shape, int position, int key)
{
    if (key >= shape.keys) return false;
    if (shape.causal && key > position) return false;
    if (shape.window > 0 && key + shape.window <= position) return false;
    return true;
}

// The first key that any of the block's queries sees, rounded down to a tile, and the one after the last.
__device__ __forceinline__ int2 key_range(const Shape& shape, int first_position, int last_position)
{
    int begin = 0, end = shape.keys;
    if (shape.causal) end = min(end, last_position + 1);
    if (shape.window > 0) begin = max(0, first_position - shape.window + 1);
    return make_int2(begin / KEYS * KEYS, end);
}

// Scores of the thread's 4x4 pairs, in units of log2.
__device__ __forceinline__ void score(const Tile& q, const Tile& k, int x, int y, float (&s)[PER][PER])
{
    for (int i = 0; i < PER; ++i) {
        for (int j = 0; j < PER; ++j) s[i][j] = 0.0f;
    }
#pragma unroll 4
    for (int d = 0; d < D; ++d) {
        float a[PER], b[PER];
        for (int i = 0; i < PER; ++i) a[i] = q.value[y + i * SIDE][d];
        for (int j = 0; j < PER; ++j) b[j] = k.value[x + j * SIDE][d];
        for (int i = 0; i < PER; ++i) {
            for (int j = 0; j < PER; ++j) s[i][j] += a[i] * b[j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
          const float* __restrict__ slopes, float* __restrict__ O, float* __restrict__ log_sum, Shape shape)
{
    extern __shared__ float storage[];
    Tile& query_tile = reinterpret_cast<Tile*>(storage)[0];
    Tile& key_tile = reinterpret_cast<Tile*>(storage)[1];
    Tile& value_tile = reinterpret_cast<Tile*>(storage)[2];
    Tile& weight_tile = reinterpret_cast<Tile*>(storage)[3];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int head = blockIdx.y, batch = blockIdx.z;
    const int kv_head = head / (shape.heads / shape.kv_heads);
    const int first_query = blockIdx.x * ROWS;
    const int offset = shape.keys - shape.queries;  // from a query's number to its position
    const float slope = slopes ? slopes[head] * LOG2E : 0.0f;
    const float scale = shape.scale * LOG2E;

    const size_t query_row = ((size_t)batch * shape.heads + head) * shape.queries + first_query;
    const size_t key_row = ((size_t)batch * shape.kv_heads + kv_head) * shape.keys;
    query_tile.load(Q + query_row * D, shape.queries - first_query, t);

    float largest[PER], total[PER], out[PER][PER];
    for (int i = 0; i < PER; ++i) {
        largest[i] = NOTHING;
        total[i] = 0.0f;
        for (int j = 0; j < PER; ++j) out[i][j] = 0.0f;
    }

    const int last_query = min(first_query + ROWS, shape.queries) - 1;
    const int2 range = key_range(shape, first_query + offset, last_query + offset);
    for (int start = range.x; start < range.y; start += KEYS) {
        key_tile.load(K + (key_row + start) * D, shape.keys - start, t);
        value_tile.load(V + (key_row + start) * D, shape.keys - start, t);
        __syncthreads();

        float s[PER][PER];
        score(query_tile, key_tile, x, y, s);

        for (int i = 0; i < PER; ++i) {
            const int position = first_query + y + i * SIDE + offset;
            float top = largest[i];
            for (int j = 0; j < PER; ++j) {
                const int key = start + x + j * SIDE;
                const float biased = s[i][j] * scale + bias(slope, position - key);
                s[i][j] = seen(shape, position, key) ? biased : NOTHING;
                top = fmaxf(top, s[i][j]);
            }
            top = row_max(top);

            // What was summed so far is in units of the old largest score.
            const float shrink = exp2f(largest[i] - top);
            float sum = 0.0f;
            for (int j = 0; j < PER; ++j) {
                const float weight = s[i][j] > NOTHING ? exp2f(s[i][j] - top) : 0.0f;
                weight_tile.value[y + i * SIDE][x + j * SIDE] = weight;
                sum += weight;
                out[i][j] *= shrink;
            }
            total[i] = total[i] * shrink + row_sum(sum);
            largest[i] = top;
        }
        __syncthreads();

#pragma unroll 4
        for (int k = 0; k < KEYS; ++k) {
            float a[PER], b[PER];
            for (int i = 0; i < PER; ++i) a[i] = weight_tile.value[y + i * SIDE][k];
            for (int j = 0; j < PER; ++j) b[j] = value_tile.value[k][x + j * SIDE];
            for (int i = 0; i < PER; ++i) {
                for (int j = 0; j < PER; ++j) out[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < PER; ++i) {
        const int query = first_query + y + i * SIDE;
        if (query >= shape.queries) continue;
        const float inverse = total[i] > 0.0f ? 1.0f / total[i] : 0.0f;  // a query that sees no key gets zeros
        for (int j = 0; j < PER; ++j) {
            O[(query_row + y + i * SIDE) * D + x + j * SIDE] = out[i][j] * inverse;
        }
        if (log_sum && x == 0) {
            const float sum_log2 = total[i] > 0.0f ? largest[i] + log2f(total[i]) : NOTHING;
            log_sum[query_row + y + i * SIDE] = sum_log2 * LN2;
        }
    }
}
