// grid: 1
// block: 256
// fault: member mask
// kinds: member_mask inactive_lane wrong_result barrier_divergence deadlock uninitialised_read
// Threads behind n leave before the shuffles and the barrier, which name them.
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float warps[8];
    int t = threadIdx.x, lane = t % 32;
    float carry = 0;
    for (int i = t; ; i += 256) {
        if (i >= n) return;
        float v = x[i];
        for (int d = 1; d < 32; d *= 2) {
            float u = __shfl_up_sync(0xffffffff, v, d);
            if (lane >= d) v += u;
        }
        if (lane == 31) warps[t / 32] = v;
        __syncthreads();
        float before = carry;
        for (int w = 0; w < t / 32; ++w) before += warps[w];
        y[i] = before + v;
        for (int w = 0; w < 8; ++w) carry += warps[w];
        __syncthreads();
    }
}
