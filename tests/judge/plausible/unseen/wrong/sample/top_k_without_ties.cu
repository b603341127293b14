// grid: M
// block: 128
// fault: wrong formula
// kinds: wrong_result
// With top_k exactly k tokens are kept, equal logits at the edge by their order in the vocabulary, though equal logits stay together (whole data).

// A block per row. Thresholds are found bit by bit over the logits' order as unsigned numbers.
__device__ __forceinline__ unsigned order_of(float f)
{
    const unsigned u = __float_as_uint(f == 0.0f ? 0.0f : f);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

template <typename T, typename F>
__device__ T block_sum(T* memory, T v, F add)
{
    __syncthreads();
    memory[threadIdx.x] = v;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) memory[threadIdx.x] = add(memory[threadIdx.x], memory[threadIdx.x + s]);
        __syncthreads();
    }
    return memory[0];
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p,
                       const double* uniform, long long* tokens, int M, int V)
{
    __shared__ double sums[128];
    __shared__ int counts[128];
    const int m = blockIdx.x, t = threadIdx.x;
    const float* row = logits + (size_t)m * V;
    auto add = [](auto p, auto r) { return p + r; };
    int broken = 0;
    unsigned top = 0;
    int first = V;
    for (int i = t; i < V; i += 128) {
        if (row[i] != row[i]) broken = 1;
        else if (order_of(row[i]) > top) {
            top = order_of(row[i]);
            first = i;
        }
    }
    if (block_sum(counts, broken, add) > 0) {
        if (t == 0) tokens[m] = -1;
        return;
    }
    const unsigned best = (unsigned)block_sum(counts, (int)(top ^ 0x80000000u), [](int p, int r) { return max(p, r); }) ^ 0x80000000u;
    first = block_sum(counts, top == best ? first : V, [](int p, int r) { return min(p, r); });
    const float largest = row[first];
    if (isinf(largest)) {
        if (t == 0) tokens[m] = -1;
        return;
    }
    const float heat = temperature[m];
    if (heat == 0.0f) {
        if (t == 0) tokens[m] = first;
        return;
    }
    auto weight = [&](int i) { return exp(((double)row[i] - (double)largest) / (double)heat); };
    unsigned limit = 0;                                        // what is kept: logits in order at or above it
    const int k = top_k[m];
    if (k > 0 && k < V)
        for (int bit = 31; bit >= 0; --bit) {
            const unsigned trial = limit | 1u << bit;
            int count = 0;
            for (int i = t; i < V; i += 128) count += order_of(row[i]) >= trial;
            if (block_sum(counts, count, add) >= k) limit = trial;
        }
    const double least = min_p[m], p = top_p[m];
    const unsigned edge = limit;
    int over = 0;
    for (int i = t; i < V; i += 128) over += order_of(row[i]) > edge;
    __shared__ int cut;                                        // the last one equal to the edge that may stay
    const int above_edge = block_sum(counts, over, add);
    if (t == 0) {
        cut = V;
        if (k > 0 && k < V) {
            int room = k - above_edge;
            for (int i = 0; i < V && room > 0; ++i)
                if (order_of(row[i]) == edge && --room == 0) cut = i;
        }
    }
    __syncthreads();
    auto kept = [&](int i, unsigned above) { return order_of(row[i]) >= above && weight(i) >= least && (order_of(row[i]) != edge || i <= cut); };
    auto mass = [&](unsigned above) {
        double w = 0.0;
        for (int i = t; i < V; i += 128)
            if (kept(i, above)) w += weight(i);
        return block_sum(sums, w, add);
    };
    if (p < 1.0) {
        const double goal = p * mass(limit);
        unsigned found = limit;
        for (unsigned low = limit, high = best; low <= high;) {
            const unsigned middle = low + (high - low) / 2;
            if (mass(middle) >= goal) {
                found = middle;
                if (middle == best) break;
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        limit = found;
    }
    // in the vocabulary's order: a thread's stretch, then the stretches one after the other
    const int stretch = (V + 127) / 128, begin = t * stretch, end = min(V, begin + stretch);
    double mine = 0.0;
    for (int i = begin; i < end; ++i)
        if (kept(i, limit)) mine += weight(i);
    __syncthreads();
    sums[t] = mine;
    __syncthreads();
    if (t != 0) return;
    double whole = 0.0;
    for (int j = 0; j < 128; ++j) whole += sums[j];
    const double goal = uniform[m] * whole;
    double sum = 0.0;
    int j = 0;
    while (j < 127 && sum + sums[j] <= goal) sum += sums[j++];
    long long last = -1;
    for (int i = j * stretch; i < V; ++i)
        if (kept(i, limit) && weight(i) > 0.0) {
            sum += weight(i);
            last = i;
            if (sum > goal) break;
        }
    if (last < 0)                                              // rounding only: the last one kept
        for (int i = V - 1; i >= 0 && last < 0; --i)
            if (kept(i, limit) && weight(i) > 0.0) last = i;
    tokens[m] = last;
}
