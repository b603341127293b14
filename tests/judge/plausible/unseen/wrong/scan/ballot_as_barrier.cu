// grid: 1
// block: 32
// fault: __ballot_sync stands for a barrier: it orders no memory
// kinds: race
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[64];
    const int t = threadIdx.x;
    float carry = 0;
    s[t] = 0;
    __syncwarp();
    for (int b = 0; b < n; b += 32) {
        float v = b + t < n ? x[b + t] : 0.f;
        s[32 + t] = v;
        for (int o = 1; o < 32; o <<= 1) {
            __ballot_sync(~0u, 1);
            const float u = s[32 + t - o];
            __ballot_sync(~0u, 1);
            s[32 + t] = v = v + u;
        }
        __ballot_sync(~0u, 1);
        const float whole = s[63];
        if (b + t < n) y[b + t] = carry + v;
        carry += whole;
        __ballot_sync(~0u, 1);
    }
}
