// grid: M
// block: 96
// Threads agree on each next lower logit through an atomic maximum on order-preserving integers in shared memory.
__device__ unsigned key(float v) { const unsigned b = __float_as_uint(v + 0.0f); return b >> 31 ? ~b : b | 0x80000000u; }
__device__ float value(unsigned k) { return __uint_as_float(k >> 31 ? k & 0x7fffffffu : ~k); }
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    __shared__ unsigned best, same;
    const int m = blockIdx.x, t = threadIdx.x;
    const float* l = logits + (size_t)m * V;
    const float p = top_p[m];
    const float T = temperature[m];
    auto next_below = [&](unsigned bound) {  // the largest key below bound
        __syncthreads();
        if (t == 0) best = 0;
        __syncthreads();
        unsigned mine = 0;
        for (int i = t; i < V; i += 96)
            if (key(l[i]) < bound) mine = max(mine, key(l[i]));
        atomicMax(&best, mine);
        __syncthreads();
        return best;
    };
    auto number_of = [&](unsigned k) {
        __syncthreads();
        if (t == 0) same = 0;
        __syncthreads();
        unsigned mine = 0;
        for (int i = t; i < V; i += 96) mine += key(l[i]) == k;
        if (mine) atomicAdd(&same, mine);
        __syncthreads();
        return same;
    };
    int bad = 0;
    for (int i = t; i < V; i += 96) bad |= !(l[i] < INFINITY);
    bad = __syncthreads_or(bad);
    const unsigned nothing = key(-INFINITY), first = bad ? nothing : next_below(0xffffffffu);
    if (first == nothing) {
        if (t == 0) tokens[m] = -1;
        return;
    }
    const float top = value(first);
    auto weight = [&](unsigned k) { return T == 0.0f ? (k == first ? 1.0 : 0.0) : exp(((double)value(k) - top) / T); };
    const unsigned k = top_k[m] > 0 && top_k[m] < V ? top_k[m] : V;
    unsigned limit = first, count = 0;
    double total = 0, sum = 0;
    for (unsigned at = first;;) {
        const unsigned n = number_of(at);
        count += n;
        total += n * weight(at);
        limit = at;
        if (count >= k || T == 0.0f) break;
        at = next_below(at);
        if (at <= nothing || weight(at) < min_p[m]) break;
    }
    if (p < 1.0f && T != 0.0f)
        for (unsigned at = first;;) {
            sum += number_of(at) * weight(at);
            if (sum >= p * total || at == limit) {
                limit = at;
                total = sum;
                break;
            }
            at = next_below(at);
        }
    if (t) return;
    const double point = T == 0.0f ? 0.0 : uniform[m] * total;
    sum = 0;
    for (int i = 0; i < V; ++i) {
        if (key(l[i]) < limit) continue;
        sum += weight(key(l[i]));
        tokens[m] = i;
        if (sum > point) return;
    }
}
