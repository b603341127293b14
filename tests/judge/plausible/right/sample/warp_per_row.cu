// grid: ceil(M/3)
// block: 32 3
// A warp per row: the descent through the distinct logits by warp reductions, the draw by a running sum over 32 at a time.
__device__ float warp_max(float v)
{
    for (int k = 16; k; k >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, k));
    return v;
}
__device__ double warp_sum(double v)
{
    for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
    return v;
}
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    const int m = blockIdx.x * 3 + threadIdx.y, lane = threadIdx.x;
    if (m >= M) return;
    const float* l = logits + (size_t)m * V;
    const float T = temperature[m], p = top_p[m];
    bool bad = false;
    float top = -INFINITY;
    for (int i = lane; i < V; i += 32) bad |= !(l[i] < INFINITY), top = fmaxf(top, l[i]);
    top = warp_max(top);
    if (__any_sync(~0u, bad) || top == -INFINITY) {
        if (lane == 0) tokens[m] = -1;
        return;
    }
    float limit = top;
    double total = 1.0, point = 0.0;
    auto weight = [&](float v) { return exp(((double)v - top) / T); };
    if (T != 0.0f) {
        const int k = top_k[m] > 0 && top_k[m] < V ? top_k[m] : V;
        for (int pass = 0; pass < 2; ++pass) {
            const float floor_of_pass = pass ? limit : -INFINITY;
            const double wanted = p < 1.0f ? p * total : INFINITY;
            double sum = 0;
            int count = 0;
            for (float v = top;;) {
                int same = 0;
                float next = -INFINITY;
                for (int i = lane; i < V; i += 32) {
                    same += l[i] == v;
                    if (l[i] < v) next = fmaxf(next, l[i]);
                }
                same = __reduce_add_sync(~0u, same);
                next = warp_max(next);
                count += same;
                sum += same * weight(v);
                limit = v;
                if (next == -INFINITY || next < floor_of_pass || (pass ? sum >= wanted : count >= k || weight(next) < min_p[m])) break;
                v = next;
            }
            total = sum;
        }
        point = uniform[m] * total;
    }
    double before = 0;
    long long drawn = -1;
    for (int base = 0; base < V; base += 32) {
        const int i = base + lane;
        double w = i < V && l[i] >= limit ? (T == 0.0f ? 1.0 : weight(l[i])) : 0.0;
        const bool kept = w > 0.0;
        for (int k = 1; k < 32; k *= 2) {
            const double other = __shfl_up_sync(~0u, w, k);
            if (lane >= k) w += other;
        }
        const unsigned hit = __ballot_sync(~0u, kept && before + w > point), any = __ballot_sync(~0u, kept);
        if (any) drawn = base + 31 - __clz(any);
        if (hit) {
            drawn = base + __ffs(hit) - 1;
            break;
        }
        before += __shfl_sync(~0u, w, 31);
    }
    if (lane == 0) tokens[m] = drawn;
}
