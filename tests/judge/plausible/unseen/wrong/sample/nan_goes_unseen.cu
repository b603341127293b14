// grid: ceil(M/32)
// block: 32
// fault: values
// kinds: wrong_result
// Comparisons pass over a NaN, and nothing else looks for it: its row gives a token and not -1.

__device__ unsigned order_of(float v)
{
    const unsigned bits = __float_as_uint(v + 0.0f);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) return;
    const float* x = logits + (size_t)row * V;
    float high = -INFINITY;
    long long best = 0;
    bool sound = true;
    for (int i = 0; i < V; ++i) {
        if (x[i] > high) high = x[i], best = i;
    }
    if (!sound || fabsf(high) == INFINITY) {
        tokens[row] = -1;
        return;
    }
    if (temperature[row] == 0.0f) {
        tokens[row] = best;
        return;
    }
    const double heat = temperature[row];
    auto weight = [&](float v) { return exp(((double)v - (double)high) / heat); };
    // The edges are found by bisection over the order of floats.
    unsigned by_k = 0, by_p = 0;
    double all = 0.0;
    const int k = top_k[row];
    if (k > 0 && k < V)
        for (unsigned bit = 1u << 31; bit; bit >>= 1) {
            int members = 0;
            for (int i = 0; i < V; ++i) members += order_of(x[i]) >= (by_k | bit);
            if (members >= k) by_k |= bit;
        }
    const double least = min_p[row];
    auto kept = [&](int i) { return order_of(x[i]) >= by_k && weight(x[i]) >= least; };
    for (int i = 0; i < V; ++i)
        if (kept(i)) all += weight(x[i]);
    if (top_p[row] < 1.0f) {
        for (unsigned bit = 1u << 31; bit; bit >>= 1) {
            double above = 0.0;
            for (int i = 0; i < V; ++i)
                if (order_of(x[i]) >= (by_p | bit) && kept(i)) above += weight(x[i]);
            if (above >= top_p[row] * all) by_p |= bit;
        }
    }
    const unsigned floor = min(max(by_k, by_p), order_of(high));
    all = 0.0;
    for (int i = 0; i < V; ++i)
        if (order_of(x[i]) >= floor && kept(i)) all += weight(x[i]);
    const double point = uniform[row] * all;
    double running = 0.0;
    for (int i = 0; i < V; ++i) {
        const double w = order_of(x[i]) >= floor && kept(i) ? weight(x[i]) : 0.0;
        running += w;
        if (w > 0.0) best = i;
        if (w > 0.0 && running > point) break;
    }
    tokens[row] = best;
}
