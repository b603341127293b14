// grid: 256
// block: 256
// fault: sizes
// kinds: wrong_result
// A fixed grid of 65,536 threads with two options each: 131,072 are priced.
__global__ void black_scholes(const float* spot, const float* strike, const float* years, float* call, float* put, int n, float rate, float volatility)
{
    for (int j = 0; j < 2; j++) { int i = (j * 256 + blockIdx.x) * 256 + threadIdx.x;
    if (i >= n) continue;
    float S = spot[i], K = strike[i], T = years[i];
    float q = volatility * sqrtf(T);
    float d1 = (logf(S / K) + (rate + 0.5f * volatility * volatility) * T) / q, d2 = d1 - q;
    float e = K * expf(-rate * T);
    float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
    call[i] = S * n1 - e * n2;
    put[i] = e * (0.5f * erfcf(d2 * 0.70710678f)) - S * (0.5f * erfcf(d1 * 0.70710678f));
} }
