// 04 vectors: four options for a thread, by loads and stores of 16 bytes.
//
// Moves: global requests, to a quarter. Four options at once also keep the units for roots and exponentials busy while
//   others wait.
// Mapping: thread t of block b -> options 4 (b * 128 + t) and the three behind it; where an array does not begin at a
//   multiple of 16 bytes, or at the end, one by one.
//
// entry: black_scholes_vectors
// block: 128
// grid: ceil(n/512)

// erfc(x) / 2 of x >= 0 and what is left of 1: of the two shares of a normal distribution the small one is exact to the
// last bits, and the large one is 1 less that.
struct Shares {
    float below, above;
};

__device__ __forceinline__ Shares normal(float d)
{
    const float tail = 0.5f * erfcf(0.70710678f * fabsf(d));
    return d < 0.0f ? Shares{tail, 1.0f - tail} : Shares{1.0f - tail, tail};
}

struct Prices {
    float call, put;
};

__device__ __forceinline__ Prices prices(float spot, float strike, float years, float rate, float volatility)
{
    const float width = volatility * sqrtf(years);
    const float d1 = (logf(spot / strike) + (rate + 0.5f * volatility * volatility) * years) / width;
    const float discounted = strike * expf(-rate * years);
    const Shares a = normal(d1), b = normal(d1 - width);
    return {spot * a.below - discounted * b.below, discounted * b.above - spot * a.above};
}

extern "C" __global__ void __launch_bounds__(128)
black_scholes_vectors(const float* __restrict__ spot, const float* __restrict__ strike,
                      const float* __restrict__ years, float* __restrict__ call, float* __restrict__ put, int n,
                      float rate, float volatility)
{
    const long long first = 4 * ((long long)blockIdx.x * 128 + threadIdx.x);
    const size_t addresses = (size_t)spot | (size_t)strike | (size_t)years | (size_t)call | (size_t)put;
    if ((addresses & 15) != 0 || first + 4 > n) {
        for (long long i = first; i < min(first + 4, (long long)n); ++i) {
            const Prices p = prices(spot[i], strike[i], years[i], rate, volatility);
            call[i] = p.call;
            put[i] = p.put;
        }
        return;
    }
    const float4 s = *reinterpret_cast<const float4*>(spot + first);
    const float4 k = *reinterpret_cast<const float4*>(strike + first);
    const float4 t = *reinterpret_cast<const float4*>(years + first);
    const Prices a = prices(s.x, k.x, t.x, rate, volatility), b = prices(s.y, k.y, t.y, rate, volatility);
    const Prices c = prices(s.z, k.z, t.z, rate, volatility), d = prices(s.w, k.w, t.w, rate, volatility);
    *reinterpret_cast<float4*>(call + first) = make_float4(a.call, b.call, c.call, d.call);
    *reinterpret_cast<float4*>(put + first) = make_float4(a.put, b.put, c.put, d.put);
}
