// 03 shared tails: a call and a put need N(d) and N(-d), which are 1 together: two error functions, not four.
//
// Moves: instructions, to two thirds. The small one of the two is worked out and taken from 1, never the other way.
// Mapping: thread t of block b -> option b * 256 + t.
//
// entry: black_scholes_shared_tails
// block: 256
// grid: ceil(n/256)

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

extern "C" __global__ void __launch_bounds__(256)
black_scholes_shared_tails(const float* __restrict__ spot, const float* __restrict__ strike,
                           const float* __restrict__ years, float* __restrict__ call, float* __restrict__ put, int n,
                           float rate, float volatility)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const Prices p = prices(spot[i], strike[i], years[i], rate, volatility);
    call[i] = p.call;
    put[i] = p.put;
}
