// grid: M
// block: 128
// fault: race
// kinds: race wrong_result unrepeatable
// Greedy rows: every thread that holds the largest logit writes its index, and the lowest need not be the last to write.
#include <math.h>
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
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    __shared__ float best[128];
    int m = blockIdx.x, t = threadIdx.x;
    const float* row = logits + (size_t)m * V;
    if (temperature[m] != 0.0f) {
        if (t == 0) tokens[m] = draw(row, V, temperature[m], top_k[m], top_p[m], min_p[m], uniform[m]);
        return;
    }
    best[t] = -INFINITY;
    bool bad = false;
    for (int i = t; i < V; i += 128) best[t] = fmaxf(best[t], row[i]), bad |= !(row[i] < INFINITY);
    bad = __syncthreads_or(bad);
    float top = -INFINITY;
    for (int k = 0; k < 128; ++k) top = fmaxf(top, best[k]);
    if (bad || top == -INFINITY) {
        if (t == 0) tokens[m] = -1;
        return;
    }
    for (int i = t; i < V; i += 128)
        if (row[i] == top) tokens[m] = i;
}
