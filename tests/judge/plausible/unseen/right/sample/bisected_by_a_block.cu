// grid: M
// block: 128
//
// A block for each row. The edges of top-k and top-p are found by bisection over the order of floats, all sums are doubles.

#include <cfloat>

constexpr int THREADS = 128;

__device__ unsigned order_of(float v)
{
    const unsigned b = __float_as_uint(v + 0.0f);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
}

template <typename T, typename F>
__device__ T total(T v, F join)
{
    __shared__ T cells[THREADS];
    __syncthreads();
    cells[threadIdx.x] = v;
    for (int w = THREADS / 2; w; w >>= 1) {
        __syncthreads();
        if (threadIdx.x < w) cells[threadIdx.x] = join(cells[threadIdx.x], cells[threadIdx.x + w]);
    }
    __syncthreads();
    return cells[0];
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    const int row = blockIdx.x, t = threadIdx.x;
    const float* x = logits + (size_t)row * V;
    const auto add = [](auto a, auto b) { return a + b; };
    float high = -INFINITY;
    int bad = 0;
    for (int i = t; i < V; i += THREADS) {
        bad |= isnan(x[i]);
        high = fmaxf(high, x[i]);
    }
    bad = total(bad, add);
    high = total(high, [](float a, float b) { return fmaxf(a, b); });
    if (bad || isinf(high)) {
        if (t == 0) tokens[row] = -1;
        return;
    }
    if (temperature[row] == 0.0f) {
        int first = V;
        for (int i = t; i < V; i += THREADS)
            if (x[i] == high) first = min(first, i);
        first = total(first, [](int a, int b) { return min(a, b); });
        if (t == 0) tokens[row] = first;
        return;
    }
    const double heat = temperature[row], least = min_p[row], share = top_p[row];
    const int k = top_k[row];
    const auto weight = [&](int i) { return exp(((double)x[i] - high) / heat); };
    unsigned edge = 0;
    if (k > 0 && k < V)
        for (int bit = 31; bit >= 0; --bit) {
            const unsigned trial = edge | 1u << bit;
            int count = 0;
            for (int i = t; i < V; i += THREADS) count += order_of(x[i]) >= trial;
            if (total(count, add) >= k) edge = trial;
        }
    const auto kept = [&](int i) {
        const double w = weight(i);
        return order_of(x[i]) >= edge && w >= least ? w : 0.0;
    };
    if (share < 1.0) {
        double sum = 0.0;
        for (int i = t; i < V; i += THREADS) sum += kept(i);
        const double wanted = share * total(sum, add);
        unsigned reach = 0;
        for (unsigned bit = 1u << 31; bit; bit >>= 1) {
            double above = 0.0;
            for (int i = t; i < V; i += THREADS)
                if (order_of(x[i]) >= (reach | bit)) above += kept(i);
            if (total(above, add) >= wanted) reach |= bit;
        }
        edge = max(edge, min(reach, order_of(high)));
    }
    const int piece = (V + THREADS - 1) / THREADS, from = min(V, t * piece), to = min(V, from + piece);
    double mine = 0.0;
    for (int i = from; i < to; ++i) mine += kept(i);
    __shared__ double sums[THREADS + 1];
    sums[t + 1] = mine;
    __syncthreads();
    if (t == 0) {
        sums[0] = 0.0;
        for (int i = 0; i < THREADS; ++i) sums[i + 1] += sums[i];
        const double point = uniform[row] * sums[THREADS];
        int p = 0;
        while (p < THREADS - 1 && sums[p + 1] <= point) ++p;
        double running = sums[p];
        long long answer = -1;
        for (int i = p * piece; i < V; ++i) {
            const double w = kept(i);
            running += w;
            if (w > 0.0) answer = i;
            if (w > 0.0 && running > point) break;
        }
        tokens[row] = answer;
    }
}
