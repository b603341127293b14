// grid: ceil(M/2)
// block: 32 2
//
// A warp for each row, two to a block: reductions, counts and the running sum by shuffles.

template <typename T, typename F>
__device__ T across(T v, F join)
{
#pragma unroll
    for (int o = 16; o; o >>= 1) v = join(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

struct Sum {
    template <typename T>
    __device__ T operator()(T a, T b) const { return a + b; }
};

__device__ unsigned rank_of(float v)
{
    const unsigned bits = __float_as_uint(v + 0.0f);
    return (int)bits < 0 ? ~bits : bits ^ 0x80000000u;
}

__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    const int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
    if (row >= M) return;
    const float* x = logits + (size_t)row * V;
    float high = -INFINITY;
    int place = V;
    bool nan = false;
    for (int i = lane; i < V; i += 32) {
        nan |= x[i] != x[i];
        if (x[i] > high) high = x[i], place = i;
    }
    const float mine = high;
    high = across(high, [](float a, float b) { return a > b ? a : b; });
    if (__any_sync(~0u, nan) || high == INFINITY || high == -INFINITY) {
        if (lane == 0) tokens[row] = -1;
        return;
    }
    if (temperature[row] == 0.0f) {
        place = __reduce_min_sync(~0u, mine == high ? place : V);
        if (lane == 0) tokens[row] = place;
        return;
    }
    const double heat = temperature[row], least = min_p[row];
    const int k = top_k[row];
    unsigned edge = 0;
    if (k > 0 && k < V)
        for (unsigned bit = 1u << 31; bit; bit >>= 1) {
            int count = 0;
            for (int i = lane; i < V; i += 32) count += rank_of(x[i]) >= (edge | bit);
            if (__reduce_add_sync(~0u, count) >= k) edge |= bit;
        }
    const auto kept = [&](int i, unsigned from) {
        if (rank_of(x[i]) < from) return 0.0;
        const double w = exp(((double)x[i] - (double)high) / heat);
        return w >= least ? w : 0.0;
    };
    const auto sum_from = [&](unsigned from) {
        double sum = 0.0;
        for (int i = lane; i < V; i += 32) sum += kept(i, from);
        return across(sum, Sum{});
    };
    const double share = top_p[row];
    if (share < 1.0) {
        const double wanted = share * sum_from(edge);
        unsigned reach = 0;
        for (unsigned bit = 1u << 31; bit; bit >>= 1)
            if (sum_from(max(edge, reach | bit)) >= wanted) reach |= bit;
        edge = max(edge, min(reach, rank_of(high)));
    }
    const double point = uniform[row] * sum_from(edge);
    double before = 0.0;
    int answer = -1;
    for (int first = 0; first < V; first += 32) {
        const int i = first + lane;
        const double w = i < V ? kept(i, edge) : 0.0;
        double up_to = w;
        for (int o = 1; o < 32; o <<= 1) {
            const double left = __shfl_up_sync(~0u, up_to, o);
            if (lane >= o) up_to += left;
        }
        const unsigned some = __ballot_sync(~0u, w > 0.0), past = __ballot_sync(~0u, w > 0.0 && before + up_to > point);
        if (past) {
            answer = first + __ffs(past) - 1;
            break;
        }
        if (some) answer = first + 31 - __clz(some);
        before += __shfl_sync(~0u, up_to, 31);
    }
    if (lane == 0) tokens[row] = answer;
}
