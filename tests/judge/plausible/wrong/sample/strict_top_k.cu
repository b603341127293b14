// grid: ceil(M/32)
// block: 32
// fault: wrong formula
// kinds: wrong_result
// Where several tokens share the k-th place the reference keeps all of them; this keeps those of lower index only.
#include <math.h>
__device__ double share(float l, float top, float T) { return exp(((double)l - top) / T); }
__device__ float below(const float* l, int V, float v, int* equal)
{
    float next = -INFINITY;
    int same = 0;
    for (int i = 0; i < V; ++i) {
        same += l[i] == v;
        if (l[i] < v) next = fmaxf(next, l[i]);
    }
    *equal = same;
    return next;
}
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x, same = 0;
    if (m >= M) return;
    const float* l = logits + (size_t)m * V;
    const float T = temperature[m];
    int best = 0;
    bool sound = true;
    for (int i = 0; i < V; ++i) {
        sound &= l[i] < INFINITY;
        if (l[i] > l[best] || l[best] != l[best]) best = i;
    }
    float top = l[best], limit = top;
    tokens[m] = sound && top > -INFINITY ? best : -1;
    if (tokens[m] < 0 || T == 0.0f) return;
    int k = top_k[m] > 0 && top_k[m] < V ? top_k[m] : V, count = 0;
    for (float next; true; limit = next) {
        next = below(l, V, limit, &same);
        count += same;
        if (count >= k || next == -INFINITY || share(next, top, T) < min_p[m]) break;
    }
    double total = 0, sum = 0;
    for (int i = 0; i < V; ++i)
        if (l[i] >= limit) total += share(l[i], top, T);
    if (top_p[m] < 1.0f) {
        float v = top;
        for (float next; v >= limit; v = next) {
            next = below(l, V, v, &same);
            sum += same * share(v, top, T);
            if (sum >= top_p[m] * total || next < limit) break;
        }
        limit = v;
        total = 0;
        for (int i = 0; i < V; ++i)
            if (l[i] >= limit) total += share(l[i], top, T);
    }
    sum = 0;
    same = 0;
    for (int i = 0; i < V; ++i) same += l[i] > limit;
    for (int i = 0; i < V; ++i) {
        if (l[i] < limit) continue;
        if (l[i] == limit && top_p[m] >= 1.0f && k < V && ++same > k) continue;
        sum += share(l[i], top, T);
        tokens[m] = i;
        if (sum > uniform[m] * total) return;
    }
}
