// grid: M
// block: 256
// fault: numerics: precision
// kinds: wrong_result
// Weights are added up in float32, where 2^-30 of the uniform number may decide.
#define SUM float
#define PACK(f, i) (((unsigned long long)ordered(f) << 32) | (unsigned)~(i))
#define FIRST(b) (int)~(unsigned)(b)
__device__ __forceinline__ unsigned int ordered(float f)
{
    if (f == 0.0f) f = 0.0f;  // -0 is 0
    const unsigned int u = __float_as_uint(f == 0.0f ? 0.0f : f);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

template <typename T> __device__ T block_sum(T v)
{
    __shared__ T s[8];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < 8; ++w) v += s[w];
    return v;
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    __shared__ unsigned long long best;
    __shared__ SUM sums[256];
    __shared__ int bad, found;
    const int row = blockIdx.x, t = threadIdx.x;
    const float* x = logits + (size_t)row * V;
    if (t == 0) {
        best = 0;
        bad = 0;
        found = V;
    }
    __syncthreads();
    unsigned long long mine = 0;
    bool nan = false;
    for (int i = t; i < V; i += 256) {
        nan |= isnan(x[i]);
        const unsigned long long k = PACK(x[i], i);
        if (k > mine) mine = k;
    }
    if (nan) atomicExch(&bad, 1);
    atomicMax(&best, mine);
    __syncthreads();
    const int first = FIRST(best);
    const float largest = first >= 0 && first < V ? x[first] : 0.0f;
    if (bad || isinf(largest)) {
        if (t == 0) tokens[row] = -1;
        return;
    }
    const float T = temperature[row];
    if (T == 0.0f) {
        if (t == 0) tokens[row] = first;
        return;
    }
    const float mp = min_p[row];
    auto weight = [&](int i) { return exp(((double)x[i] - (double)largest) / (double)T); };
    unsigned int least = 0;  // tokens of at least this ordered logit are kept
    const int k = top_k[row];
    if (k > 0 && k < V) {
        for (int bit = 31; bit >= 0; --bit) {
            const unsigned int tried = least | 1u << bit;
            int count = 0;
            for (int i = t; i < V; i += 256) count += ordered(x[i]) >= tried;
            if (block_sum<int>(count) >= k) least = tried;
        }
    }
    const float tp = top_p[row];
    if (tp < 1.0f) {
        double all = 0;
        for (int i = t; i < V; i += 256)
            if (ordered(x[i]) >= least && weight(i) >= mp) all += weight(i);
        all = block_sum<double>(all);
        unsigned int cut = 0;
        if (tp <= 0.0f) cut = ordered(largest);
        else
            for (int bit = 31; bit >= 0; --bit) {
                const unsigned int tried = cut | 1u << bit;
                double part = 0;
                for (int i = t; i < V; i += 256)
                    if (ordered(x[i]) >= least && ordered(x[i]) >= tried && weight(i) >= mp) part += weight(i);
                if (block_sum<double>(part) >= (double)tp * all) cut = tried;
            }
        least = max(least, cut);
    }
    const int each = (V + 255) / 256, begin = min(V, t * each), end = min(V, begin + each);
    auto kept = [&](int i) { return ordered(x[i]) >= least && weight(i) >= mp ? (SUM)weight(i) : (SUM)0; };
    SUM own = 0;
    for (int i = begin; i < end; ++i) own += kept(i);
    sums[t] = own;
    __syncthreads();
    SUM before = 0, all = 0;
    for (int u = 0; u < 256; ++u) {
        if (u < t) before += sums[u];
        all += sums[u];
    }
    const SUM point = (SUM)(uniform[row] * all);
    if (before + own > point && before <= point) {
        int last = begin;
        for (int i = begin; i < end; ++i) {
            const SUM w = kept(i);
            if (w > 0) last = i;
            before += w;
            if (before > point) break;
        }
        found = last;
    }
    __syncthreads();
    if (t == 0) tokens[row] = found;
}
