// One thread. Nobody is there to meet it in a bank, so that it needs no atomics until the end. It counts right. But 31
// lanes of its warp do nothing, and neither does the rest of the chip.
//
// block: 1
// grid: 1
// expect: too_few lanes

extern "C" __global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    for (int k = 0; k < 256; ++k) bins[k] = 0;
    for (int i = 0; i < n; ++i) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) bins[(int)floorf(32.0f * v) + 128]++;
    }
    for (int k = 0; k < 256; ++k)
        if (bins[k]) atomicAdd(&counts[k], bins[k]);
}
