// 01 double: the formula with constants as they are typed, 0.5 and 2.0, which makes double of everything they touch.
//
// Moves: nothing yet. Logarithm, root, exponential and four error functions in double precision.
// Mapping: thread t of block b -> option b * 256 + t.
//
// entry: black_scholes_double
// block: 256
// grid: ceil(n/256)

__device__ double normal(double d)
{
    return 0.5 * erfc(-d / sqrt(2.0));
}

extern "C" __global__ void black_scholes_double(const float* spot, const float* strike, const float* years, float* call,
                                                float* put, int n, float rate, float volatility)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const double width = volatility * sqrt((double)years[i]);
    const double drift = rate + 0.5 * volatility * volatility;
    const double d1 = (log((double)spot[i] / strike[i]) + drift * years[i]) / width, d2 = d1 - width;
    const double discounted = strike[i] * exp(-(double)rate * years[i]);
    call[i] = spot[i] * normal(d1) - discounted * normal(d2);
    put[i] = discounted * normal(-d2) - spot[i] * normal(-d1);
}
