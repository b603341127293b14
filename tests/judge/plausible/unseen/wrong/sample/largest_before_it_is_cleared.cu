// grid: M
// block: 64
// fault: race between warps
// kinds: race wrong_result uninitialised_read
// Thread 0 clears the block's largest and the mark of a NaN, and the second warp does not wait for it before it adds its own.

__device__ unsigned order_of(float v)
{
    const unsigned bits = __float_as_uint(v + 0.0f);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    __shared__ unsigned top, unsound;
    const int row = blockIdx.x, t = threadIdx.x;
    const float* x = logits + (size_t)row * V;
    if (t == 0) top = unsound = 0;
    __syncwarp();
    for (int i = t; i < V; i += 64) {
        if (isnan(x[i]))
            atomicOr(&unsound, 1u);
        else
            atomicMax(&top, order_of(x[i]));
    }
    __syncthreads();
    if (t != 0) return;
    const float high = __uint_as_float(top >> 31 ? top ^ 1u << 31 : ~top);
    long long best = 0;
    while (best + 1 < V && x[best] != high) ++best;
    if (unsound || fabsf(high) == INFINITY) {
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
