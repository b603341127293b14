// Unguarded tail: the last block has threads for options that there are not.
//
// entry: black_scholes_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

__device__ __forceinline__ float normal(float d)
{
    return 0.5f * erfcf(-0.70710678f * d);
}

extern "C" __global__ void
black_scholes_unguarded_tail(const float* spot, const float* strike, const float* years, float* call, float* put, int n,
                             float rate, float volatility)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    const float width = volatility * sqrtf(years[i]);  // <- here
    const float drift = rate + 0.5f * volatility * volatility;
    const float d1 = (logf(spot[i] / strike[i]) + drift * years[i]) / width, d2 = d1 - width;  // <- here
    const float discounted = strike[i] * expf(-rate * years[i]);  // <- here
    call[i] = spot[i] * normal(d1) - discounted * normal(d2);  // <- here
    put[i] = discounted * normal(-d2) - spot[i] * normal(-d1);  // <- here
}
