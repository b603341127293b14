// 02 single: the same in single precision throughout, every constant with an f.
//
// Moves: instructions, to a third or so, and none of them on the units for doubles, of which most GPUs have few.
// Mapping: thread t of block b -> option b * 256 + t.
//
// entry: black_scholes_single
// block: 256
// grid: ceil(n/256)

__device__ __forceinline__ float normal(float d)
{
    return 0.5f * erfcf(-0.70710678f * d);
}

extern "C" __global__ void black_scholes_single(const float* spot, const float* strike, const float* years, float* call,
                                                float* put, int n, float rate, float volatility)
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
