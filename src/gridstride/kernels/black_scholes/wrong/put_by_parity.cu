// Put by parity: put = call - S + K e^(-rT) is true of real numbers, and noise where a put is worth little.
//
// entry: black_scholes_put_by_parity
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__device__ __forceinline__ float normal(float d)
{
    return 0.5f * erfcf(-0.70710678f * d);
}

extern "C" __global__ void
black_scholes_put_by_parity(const float* spot, const float* strike, const float* years, float* call, float* put, int n,
                            float rate, float volatility)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const float width = volatility * sqrtf(years[i]);
    const float drift = rate + 0.5f * volatility * volatility;
    const float d1 = (logf(spot[i] / strike[i]) + drift * years[i]) / width, d2 = d1 - width;
    const float discounted = strike[i] * expf(-rate * years[i]);
    call[i] = spot[i] * normal(d1) - discounted * normal(d2);
    put[i] = call[i] - spot[i] + discounted;
}
