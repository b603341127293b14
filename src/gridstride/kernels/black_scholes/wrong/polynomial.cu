// Polynomial: N(d) by five coefficients, good to seven decimals, which is nothing of what is left in a tail.
//
// entry: black_scholes_polynomial
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__device__ __forceinline__ float normal(float d)
{
    // Abramowitz and Stegun, 26.2.17.
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float q = 1.781477937f + k * (-1.821255978f + k * 1.330274429f);
    const float p = k * (0.31938153f + k * (-0.356563782f + k * q));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * p;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void
black_scholes_polynomial(const float* spot, const float* strike, const float* years, float* call, float* put, int n,
                         float rate, float volatility)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const float width = volatility * sqrtf(years[i]);
    const float drift = rate + 0.5f * volatility * volatility;
    const float d1 = (logf(spot[i] / strike[i]) + drift * years[i]) / width, d2 = d1 - width;
    const float discounted = strike[i] * expf(-rate * years[i]);
    call[i] = spot[i] * normal(d1) - discounted * normal(d2);
    put[i] = discounted * normal(-d2) - spot[i] * normal(-d1);
}
