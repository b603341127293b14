// Whole fours: n / 4 groups of four are counted, and the one, two or three elements behind them are not.
//
// entry: histogram_whole_fours
// block: 256
// grid: ceil(n/1024)
// expect: wrong_result

extern "C" __global__ void histogram_whole_fours(const float* x, int* counts, int n)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= n / 4) return;
    for (int k = 0; k < 4; ++k) {
        const float v = x[4 * g + k];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&counts[(int)floorf(32.0f * v) + 128], 1);
    }
}
