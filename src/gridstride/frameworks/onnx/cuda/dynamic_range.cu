// The scale and the zero point of uint8 for all of x, by its least and its largest element, 0 among them.
//
// Mapping: one block of 1024 threads; thread t -> elements t, t + 1024, …: for arrays that one block reads fast enough.

constexpr int THREADS = 1024;
constexpr unsigned int ALL_LANES = 0xffffffffu;

extern "C" __global__ void __launch_bounds__(THREADS) onnx_dynamic_range(
    const float* x, float* scale, unsigned char* zero, int n)
{
    __shared__ float lows[32], highs[32];
    float low = 0.0f, high = 0.0f;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(ALL_LANES, low, offset));
        high = fmaxf(high, __shfl_xor_sync(ALL_LANES, high, offset));
    }
    if (threadIdx.x % 32 == 0) {
        lows[threadIdx.x / 32] = low;
        highs[threadIdx.x / 32] = high;
    }
    __syncthreads();
    if (threadIdx.x) return;
    for (int warp = 1; warp < THREADS / 32; ++warp) {
        low = fminf(low, lows[warp]);
        high = fmaxf(high, highs[warp]);
    }
    const float step = (high - low) / 255.0f;
    *scale = step;
    *zero = step == 0.0f ? 0 : (unsigned char)fminf(fmaxf(rintf(-low / step), 0.0f), 255.0f);
}
