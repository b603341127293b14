// No discount: the strike is paid at the end, and here it counts in full today.
//
// entry: black_scholes_no_discount
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__device__ __forceinline__ float normal(float d)
{
    return 0.5f * erfcf(-0.70710678f * d);
}

extern "C" __global__ void
black_scholes_no_discount(const float* spot, const float* strike, const float* years, float* call, float* put, int n,
                          float rate, float volatility)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const float width = volatility * sqrtf(years[i]);
    const float drift = rate + 0.5f * volatility * volatility;
    const float d1 = (logf(spot[i] / strike[i]) + drift * years[i]) / width, d2 = d1 - width;
    const float discounted = strike[i];
    call[i] = spot[i] * normal(d1) - discounted * normal(d2);
    put[i] = discounted * normal(-d2) - spot[i] * normal(-d1);
}
