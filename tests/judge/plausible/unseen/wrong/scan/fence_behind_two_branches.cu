// grid: 1
// block: 32
// fault: fence taken as a barrier of the warp
// kinds: race
// NaN and numbers are stored in two branches, which the lanes may leave at different times.

__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[32]; int l = threadIdx.x; float carry = 0;
    for (int o = 0; o < n; o += 32) {
        float v = o + l < n ? x[o + l] : 0.f; if (o + l < n && v != v) s[l] = v; else s[l] = v + 0.f;
        __threadfence_block(); float a = 0;
        for (int k = 0; k <= l; k++) a += s[k];
        float all = a; for (int k = l + 1; k < 32; k++) all += s[k];
        __threadfence_block();
        if (o + l < n) y[o + l] = carry + a;
        carry += __shfl_sync(~0u, a, 31); if (all != all) carry += 0;
    }
}
