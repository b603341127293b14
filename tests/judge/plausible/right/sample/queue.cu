// grid: 3
// block: 1
// Single threads take rows from a queue; the last to leave takes the ticket back.
__device__ int draw_finite(const float* l, int V, float T, int k, float p, float mp, double u)
{
    float top = -INFINITY, limit;
    for (int i = 0; i < V; ++i) top = fmaxf(top, l[i]);
    if (top == -INFINITY) return -1;
    auto weight = [&](float v) { return T == 0.0f ? (v == top ? 1.0 : 0.0) : exp(((double)v - top) / T); };
    double total = INFINITY, sum = 0;
    for (int pass = 0; pass < 2; ++pass) {  // top-k and min-p, then top-p of what they leave
        int count = 0;
        float v = top, floor = pass ? limit : -INFINITY;
        for (sum = 0;; v = limit) {
            limit = -INFINITY;
            for (int i = 0; i < V; ++i) {
                if (l[i] == v) ++count, sum += weight(v);
                if (l[i] < v) limit = fmaxf(limit, l[i]);
            }
            bool enough = pass ? p < 1.0f && sum >= p * total : (k > 0 && k < V && count >= k) || weight(limit) < mp;
            if (enough || limit == -INFINITY || limit < floor) break;
        }
        limit = v;
        total = sum;
    }
    int last = 0;
    sum = 0;
    for (int i = 0; i < V; ++i) {
        if (l[i] < limit || weight(l[i]) == 0.0) continue;
        sum += weight(l[i]);
        last = i;
        if (T == 0.0f || sum > u * total) break;
    }
    return last;
}
__device__ int draw(const float* l, int V, float T, int k, float p, float mp, double u)
{
    for (int i = 0; i < V; ++i)
        if (!(l[i] < INFINITY)) return -1;
    return draw_finite(l, V, T, k, p, mp, u);
}
__device__ int next_row, gone;
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    while (true) {
        const int m = atomicAdd(&next_row, 1);
        if (m >= M) break;
        tokens[m] = draw(logits + (size_t)m * V, V, temperature[m], top_k[m], top_p[m], min_p[m], uniform[m]);
    }
    if (atomicAdd(&gone, 1) == gridDim.x - 1) next_row = gone = 0;
}
